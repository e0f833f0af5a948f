/* SPDX-License-Identifier: MIT */
/* What things are called, in reports, answers and tools. */
#ifndef SLAB_BASE_NAMES_H
#define SLAB_BASE_NAMES_H

#include <stdint.h>

/* flag_name: name number i of the SLAB_* flags, NULL behind the last one. */
const char *flag_name(unsigned i, uint64_t *ret_flag);

/* letter: debug letter number i in lower case, 0 behind the last one. */
char debug_letter(unsigned i, uint64_t *ret_flag);

/* debug_letters_text: "FZPU"; "-" when there are none. */
#define LETTERS_TEXT 8
void debug_letters_text(uint64_t letters, char text[LETTERS_TEXT]);

#endif /* SLAB_BASE_NAMES_H */
