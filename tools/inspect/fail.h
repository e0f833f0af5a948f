/* SPDX-License-Identifier: MIT */
/* Exit statuses and error messages of the tools. */
#pragma once

#include "posix.h"

/* Exit statuses, as documented in slabinfo(1). */
enum exit_status {
	EXIT_DONE = 0,
	EXIT_NOTHING = 1, /* no cache matched, or a search found damage or leaks */
	EXIT_USAGE = 2,   /* bad usage, or no such process */
};

/* fail: write the program's name and one error message to stderr, made printable. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* fail_option: what getopt_long() would say in its own words. `word` is that with the option,
 * except when further letters follow one that is not known. */
void fail_option(int option, const char *word, const char *short_options);

/* fail_name: set the program's name; call it before the first fail(). */
void fail_name(const char *name);

/* fail_capture: until it is called with NULL, fail() stores its last message in text[size]
 * instead of writing it to stderr: for programs that draw on the screen. */
void fail_capture(char *text, unsigned size);

/* utf8_length: the bytes of the UTF-8 character at `text`; 0: the bytes are not valid UTF-8.
 * Overlong forms, surrogates and code points above U+10FFFF are not valid. */
size_t utf8_length(const char *text);

/* is_printable: does the text have no control characters and no invalid UTF-8? make_printable:
 * replace each byte of these by a '?'. */
bool is_printable(const char *text);
void make_printable(char *text);
