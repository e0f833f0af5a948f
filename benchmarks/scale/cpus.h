/* SPDX-License-Identifier: MIT */
/*
 * Simulated CPUs.
 *
 * libslab asks its struct rseq for the CPU of a thread. This program defines the symbols by which
 * the C library tells where that struct is, so libslab reads a struct of the program, which holds
 * any number that the program stores there. libslab itself is unchanged: the same library, the same
 * fast paths. One thread acts for all CPUs, one after the other, so no sequence needs a restart, and
 * each run makes the same steps.
 *
 * An allocator that keeps its caches per thread gets a thread for each CPU. Only one of them runs
 * at a time.
 */
#ifndef SCALE_CPUS_H
#define SCALE_CPUS_H

#include <stdbool.h>

/* The environment variable with the number of CPUs: the library reads it before main(). */
#define CPUS_VARIABLE "SCALE_CPUS"
#define CPUS_MAX 512u

/* The number of simulated CPUs; 1 without the variable. */
unsigned cpus_count(void);
/* Make a thread for each CPU. Without this call, the calling thread acts for all CPUs. */
void cpus_use_threads(void);
/* Run fn on a CPU, and wait until it has returned. The calling thread then is on CPU 0. */
void cpus_run(unsigned cpu, void (*fn)(void *arg), void *arg);

#endif /* SCALE_CPUS_H */
