/* SPDX-License-Identifier: MIT */
/*
 * The counts of gcov are written by exit(). Tests of reports end by abort(), and children
 * of fork() by _exit(): the linker directs both to here (--wrap).
 */
#include <stdlib.h>
#include <unistd.h>

void __gcov_dump(void);
void __real_abort(void) __attribute__((noreturn));
void __real__exit(int status) __attribute__((noreturn));
void __wrap_abort(void) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));

void __wrap_abort(void)
{
	__gcov_dump();
	__real_abort();
}

void __wrap__exit(int status)
{
	__gcov_dump();
	__real__exit(status);
}
