/* SPDX-License-Identifier: MIT */
/* Restartable sequences: the fast ones, which allocation, free and deferred free inline, and the
 * general one, rseq_commit(). */
#ifndef CPU_CACHE_RSEQ_H
#define CPU_CACHE_RSEQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu_cache.h"
#include "inject.h"

/* A section of the general kind: conditions, a copy, one committing store. */
struct rseq_op {
	uint32_t cpu;
	uint32_t count;            /* number of offsets to copy before the commit */
	const uint64_t *check[4];  /* words to compare */
	uint64_t expect[4];        /* their expected values */
	const uint16_t *from;
	uint16_t *to;
	const uint64_t *value;     /* address of the value to commit */
	uint64_t *target;
};

#if defined(__SANITIZE_THREAD__)
#define CPU_SANITIZED 1 /* the thread sanitizer does not see into assembly */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CPU_SANITIZED 1
#endif
#endif

#if defined(__x86_64__) && !defined(CPU_SANITIZED)
#include "arch/x86_64/rseq.h"
#elif defined(__aarch64__) && !defined(CPU_SANITIZED)
#include "arch/aarch64/rseq.h"
#else
#include "arch/generic/rseq.h"
#endif

/* The CPU in this thread's struct rseq; < 0: none. */
static inline int cpu_rseq_number(void)
{
	const char *area = (const char *)__builtin_thread_pointer() + cpu_rseq_offset;

	return *(const volatile int *)(area + 4);
}

/* Does this kernel restart each sequence that it interrupts? On x86-64, every one does. */
bool rseq_kernel_restarts(void);
/* The same for the kernel of aarch64 with this release, as in struct utsname. */
bool rseq_release_restarts(const char *release);
/* The fence of this engine. false: the kernel refuses both membarrier(2) and visits of all CPUs. */
bool rseq_fence(char *slots);

#endif /* CPU_CACHE_RSEQ_H */
