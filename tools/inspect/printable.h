/* SPDX-License-Identifier: MIT */
/*
 * Foreign text on a terminal. Names in a forged answer or in a core file may contain bytes
 * that a terminal executes: control characters, including U+0080 to U+009F, and invalid
 * UTF-8, which a terminal may decode as one of them.
 */
#pragma once

#include "posix.h"

/* utf8_length: the bytes of the UTF-8 character at `text`; 0: the bytes are not valid UTF-8.
 * Overlong forms, surrogates and code points above U+10FFFF are not valid. */
size_t utf8_length(const char *text);

/* is_printable: does the text have no control characters and no invalid UTF-8? make_printable:
 * replace each byte of these by a '?'. */
bool is_printable(const char *text);
void make_printable(char *text);
