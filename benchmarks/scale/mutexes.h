/* SPDX-License-Identifier: MIT */
/*
 * Counters of acquisitions of each mutex, and how long threads hold it. The program defines the
 * lock functions that libslab calls; they count, and call the C library's.
 */
#ifndef SCALE_MUTEXES_H
#define SCALE_MUTEXES_H

#include <stdbool.h>
#include <stdio.h>

/* Count from now on, or stop. The counters begin at zero when the program starts. */
void mutexes_count(bool on);
/* Print a line for each caller and mutex: "lock CALLER MUTEX acquisitions nanoseconds". Addresses
 * are offsets in the library that has them, or "cache" for a mutex in no library. */
void mutexes_print(FILE *out);

#endif /* SCALE_MUTEXES_H */
