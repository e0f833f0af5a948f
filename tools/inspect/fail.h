/* SPDX-License-Identifier: MIT */
/* Exit statuses and error messages of the tools. */
#pragma once

/* Exit statuses, as documented in slabinfo(1). */
enum exit_status {
	EXIT_DONE = 0,
	EXIT_NOTHING = 1, /* no cache matched, or a search found damage or leaks */
	EXIT_USAGE = 2,   /* bad usage, or no such process */
};

/* fail: write the program's name and one error message to stderr, made printable. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* fail_option: what getopt_long() would say in its own words. `word` is that with the option, except
 * when further letters follow one that is not known. */
void fail_option(int option, const char *word, const char *short_options);

/* fail_name: set the program's name; call it before the first fail(). */
void fail_name(const char *name);

/* fail_capture: until it is called with NULL, fail() stores its last message in text[size]
 * instead of writing it to stderr: for programs that draw on the screen. */
void fail_capture(char *text, unsigned size);
