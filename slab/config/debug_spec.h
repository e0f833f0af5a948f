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
 * debug_text_flags: the debug flags of a SLAB_DEBUG text for a cache of this name.
 * *ret_no_growth: it has the flag O, so the caller leaves out debug flags that enlarge slabs.
 */
uint64_t debug_text_flags(const char *text, const char *cache_name, bool *ret_no_growth);

/*
 * debug_text_check: pass one error message about unknown debug flags in a SLAB_DEBUG text to
 * `complain`, and one about invalid cache names; both are skipped. Returns the number of
 * messages.
 */
int debug_text_check(const char *text, void (*complain)(const char *message));

/* N in a SLAB_SAMPLE text for a cache of this name; 0: none. */
unsigned long sample_text_interval(const char *text, const char *cache_name);
bool sample_text_is_good(const char *text);

/* --- debug flags -------------------------------------------------------------------- */

/*
 * debug_flags_parse: parse F Z P U T A in upper or lower case; "-" alone or an empty text: no
 * debug flags. 0, or -EINVAL with *ret_debug_flags unchanged.
 */
int debug_flags_parse(const char *text, size_t len, uint64_t *ret_debug_flags);

#endif /* SLAB_CONFIG_DEBUG_SPEC_H */
