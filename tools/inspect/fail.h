/* SPDX-License-Identifier: MIT */
/* How these programs end, and how they say why. */
#ifndef INSPECT_FAIL_H
#define INSPECT_FAIL_H

/* Exit statuses, as documented in slabinfo(1). */
enum exit_status {
	EXIT_DONE = 0,
	EXIT_NOTHING = 1, /* no cache matched, or a validation found damage */
	EXIT_USAGE = 2,   /* bad usage, or no such process */
};

/* fail: the program's name and one error message on stderr, fit for a terminal. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* fail_name: what the program calls itself; before anything fails. */
void fail_name(const char *name);

/* fail_capture: until it is called with NULL, the last sentence goes to text[size]
 * and not to stderr: for programs that own the screen. */
void fail_capture(char *text, unsigned size);

#endif /* INSPECT_FAIL_H */
