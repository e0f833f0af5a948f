/* SPDX-License-Identifier: MIT */
/*
 * SLAB_DEBUG and SLAB_SAMPLE: settings for caches that do not exist yet.
 *
 * Both name caches by patterns, so their values stay text (bounded, in struct slab_options:
 * the library must not call malloc), which is searched whenever a cache is created.
 * docs/environment.md has the syntax.
 */
#ifndef SLAB_CONFIG_DEBUG_SPEC_H
#define SLAB_CONFIG_DEBUG_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * debug_text_flags: the debug flags that a SLAB_DEBUG gives to a cache of this name.
 * *ret_no_growth: the flag O was given, so debug flags that make the slab larger are to be
 * left out.
 */
uint64_t debug_text_flags(const char *text, const char *cache_name, bool *ret_no_growth);

/*
 * debug_text_check: `complain` gets one error message about the debug flags of a
 * SLAB_DEBUG that are not known, and one about what cannot be a cache's name;
 * both are skipped. Returns the number of complaints.
 */
int debug_text_check(const char *text, void (*complain)(const char *message));

/* N of a SLAB_SAMPLE for a cache of this name, 0: none. */
unsigned long sample_text_interval(const char *text, const char *cache_name);
bool sample_text_is_good(const char *text);

/* --- debug flags -------------------------------------------------------------------- */

/*
 * debug_flags_parse: of F Z P U T A in upper or lower case, or "-" alone or
 * nothing, which are no debug flags. 0, or -EINVAL and *ret_debug_flags is untouched.
 */
int debug_flags_parse(const char *text, size_t len, uint64_t *ret_debug_flags);

#endif /* SLAB_CONFIG_DEBUG_SPEC_H */
