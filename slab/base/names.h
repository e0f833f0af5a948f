/* SPDX-License-Identifier: MIT */
/* Names of SLAB_* flags and characters of debug flags, as reports, JSON answers and tools print
 * them. */
#pragma once

#include <stdint.h>

/* flag_name: the name of SLAB_* flag number i; NULL behind the last one. */
const char *flag_name(unsigned i, uint64_t *ret_flag);

/* The character of debug flag number i, in lower case; 0 behind the last one. */
char debug_flag_character(unsigned i, uint64_t *ret_flag);

/* debug_flags_format: the characters of the flags, as "FZPU"; "-" for no flags. */
#define DEBUG_FLAGS_TEXT 8
void debug_flags_format(uint64_t debug_flags, char text[DEBUG_FLAGS_TEXT]);
