/* SPDX-License-Identifier: MIT */
/*
 * SLAB_DEBUG and SLAB_SAMPLE: settings for caches that may not exist yet.
 *
 * Both name caches by patterns. The values stay text in struct slab_options (bounded, because the
 * library must not call malloc), and each creation of a cache searches them. docs/environment.md
 * has the syntax.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * debug_text_flags: the debug flags that a SLAB_DEBUG text has for a cache of this name.
 * *ret_no_growth: the text has the flag O, so the caller leaves out debug flags that enlarge slabs.
 */
uint64_t debug_text_flags(const char *text, const char *cache_name, bool *ret_no_growth);

/*
 * debug_text_check: check a SLAB_DEBUG text. `complain` gets one error message about the first
 * block that has a letter that is no flag, and one about an invalid cache name; parsing skips such
 * blocks and names. Returns the number of messages.
 */
int debug_text_check(const char *text, void (*complain)(const char *message));

/* N that a SLAB_SAMPLE text has for a cache of this name; 0: none. */
unsigned long sample_text_interval(const char *text, const char *cache_name);
bool sample_text_is_good(const char *text);

/* --- debug flags -------------------------------------------------------------------- */

/*
 * debug_flags_parse: parse F Z P U T A in upper or lower case; "-" alone or an empty text: no
 * debug flags. 0, or -EINVAL with *ret_debug_flags unchanged.
 */
int debug_flags_parse(const char *text, size_t len, uint64_t *ret_debug_flags);
