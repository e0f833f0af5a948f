/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences: rseq_pop() and rseq_push(), which allocations and frees inline, and three
 * that the engine calls: rseq_take(), rseq_put() and rseq_is_newest().
 *
 * rseq_offset is cpu_rseq_offset. A miss has changed nothing; the engine's functions tell why.
 */
#ifndef CPU_CACHE_RSEQ_H
#define CPU_CACHE_RSEQ_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu_cache.h"
#include "inject.h"

#if defined(__SANITIZE_THREAD__)
#define CPU_SANITIZED 1 /* the thread sanitizer does not see into assembly */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CPU_SANITIZED 1
#endif
#endif

/* Sequences have these numbers. */
static_assert(CPU_ROW_SHIFT == 17, "the distance of rows");
static_assert(offsetof(struct cpu_array, limit) - CPU_ARRAY_COUNT == 8, "the place of the limit");
static_assert(offsetof(struct cpu_array, obj) - CPU_ARRAY_COUNT == 16, "the place of objects");

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
bool rseq_fence(void);

#endif /* CPU_CACHE_RSEQ_H */
