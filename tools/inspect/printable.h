/* SPDX-License-Identifier: MIT */
/*
 * Text of others on a terminal. Names in a forged answer or in a core file may hold
 * what a terminal takes for commands: control characters, also those beyond ASCII
 * (U+0080 to U+009F), and bytes that are no UTF-8 and may be either.
 */
#ifndef INSPECT_PRINTABLE_H
#define INSPECT_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

/* utf8_length: bytes of the UTF-8 character at text, 0 when it is none. Overlong
 * forms, surrogates and what is behind U+10FFFF are none. */
size_t utf8_length(const char *text);

/* is_printable: there is nothing of that in the text. make_printable: put a '?' in
 * the place of each such byte. */
bool is_printable(const char *text);
void make_printable(char *text);

#endif /* INSPECT_PRINTABLE_H */
