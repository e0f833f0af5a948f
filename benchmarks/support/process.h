/* SPDX-License-Identifier: MIT */
/* What programs of benchmarks need: lines for the runner, memory and CPUs of the process. */
#pragma once

#include "posix.h"

/* bench_fail: print one line and leave with status 1. */
void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* bench_say: send a line to the runner, without stdio, which would allocate its buffers. */
void bench_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* bench_map: zeroed memory that is resident and not anonymous; it is never unmapped. */
void *bench_map(size_t size);
/* bench_kib: the number after `name` in a file of /proc/self; 0 when it is not there. */
long bench_kib(const char *path, const char *name);

/* bench_cpus: how many CPUs this process may use. bench_cpu: the nth of them. bench_pin: run on
 * one. bench_unpin: on all of them. */
unsigned bench_cpus(void);
int bench_cpu(unsigned n);
void bench_pin(int cpu);
void bench_unpin(void);

/* bench_random: xorshift64. */
static inline uint64_t bench_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}
