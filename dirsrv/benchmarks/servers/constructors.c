/* SPDX-License-Identifier: MIT */
/*
 * A preload for ns-slapd that counts and times the calls that constructors of typed caches save: the
 * lock inside an entry, the BerElement inside an operation. At the end of the process it writes a
 * line per function to stderr: name, calls, nanoseconds (median).
 */
#include <dlfcn.h>
#include <slab/slab.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TICKS_PER_BUCKET 4
#define BUCKETS 4096 /* the last one has all that took longer */
#define EMPTY_CALLS 100000
#define RATE_NS 20000000 /* for which the time stamp counter's rate is measured */

struct timed {
	const char *name;
	void *next; /* the function itself */
	atomic_ulong calls;
	atomic_ulong buckets[BUCKETS];
};

static struct timed new_lock = {.name = "slapi_new_rwlock"};
static struct timed destroy_lock = {.name = "slapi_destroy_rwlock"};
static struct timed alloc_ber = {.name = "ber_alloc_t"};
static struct timed free_ber = {.name = "ber_free"};
static struct timed alloc_entry = {.name = "slapi_entry_alloc"};
static struct timed nothing = {.name = "nothing"};

void *slapi_new_rwlock(void);
void slapi_destroy_rwlock(void *lock);
void *ber_alloc_t(int options);
void ber_free(void *ber, int with_buffer);
void *slapi_entry_alloc(void);

static inline uint64_t ticks_now(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#endif
}

/* Writes the pointer to the function itself to *function. */
static void next_of(struct timed *timed, void *function)
{
	if (!timed->next)
		timed->next = dlsym(RTLD_NEXT, timed->name);
	memcpy(function, &timed->next, sizeof(timed->next));
}

static void record(struct timed *timed, uint64_t begin)
{
	uint64_t bucket = (ticks_now() - begin) / TICKS_PER_BUCKET;

	atomic_fetch_add_explicit(&timed->calls, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&timed->buckets[bucket < BUCKETS ? bucket : BUCKETS - 1], 1,
				  memory_order_relaxed);
}

SLAB_API void *slapi_new_rwlock(void)
{
	void *(*next)(void);
	uint64_t begin;
	void *lock;

	next_of(&new_lock, &next);
	begin = ticks_now();
	lock = next();
	record(&new_lock, begin);
	return lock;
}

SLAB_API void slapi_destroy_rwlock(void *lock)
{
	void (*next)(void *);
	uint64_t begin;

	next_of(&destroy_lock, &next);
	begin = ticks_now();
	next(lock);
	record(&destroy_lock, begin);
}

SLAB_API void *ber_alloc_t(int options)
{
	void *(*next)(int);
	uint64_t begin;
	void *ber;

	next_of(&alloc_ber, &next);
	begin = ticks_now();
	ber = next(options);
	record(&alloc_ber, begin);
	return ber;
}

SLAB_API void ber_free(void *ber, int with_buffer)
{
	void (*next)(void *, int);
	uint64_t begin;

	next_of(&free_ber, &next);
	begin = ticks_now();
	next(ber, with_buffer);
	record(&free_ber, begin);
}

SLAB_API void *slapi_entry_alloc(void)
{
	void *(*next)(void);
	uint64_t begin;
	void *entry;

	next_of(&alloc_entry, &next);
	begin = ticks_now();
	entry = next();
	record(&alloc_entry, begin);
	return entry;
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double ticks_per_ns(void)
{
	double begin = now_ns(), end = begin;
	uint64_t ticks = ticks_now();

	while (end - begin < RATE_NS)
		end = now_ns();
	return (double)(ticks_now() - ticks) / (end - begin);
}

static int median(const struct timed *timed)
{
	unsigned long shorter = 0;
	int bucket = 0;

	for (; bucket < BUCKETS - 1; bucket++) {
		shorter += timed->buckets[bucket];
		if (2 * shorter >= timed->calls)
			break;
	}
	return bucket * TICKS_PER_BUCKET;
}

/* Without what the time stamps themselves take. */
static void show(const struct timed *timed, double rate)
{
	int ticks = median(timed) - median(&nothing);

	dprintf(STDERR_FILENO, "timed: %s %lu %.0f\n", timed->name, timed->calls,
		ticks > 0 ? ticks / rate : 0);
}

__attribute__((destructor)) static void at_exit(void)
{
	double rate = ticks_per_ns();

	for (int i = 0; i < EMPTY_CALLS; i++)
		record(&nothing, ticks_now());
	show(&new_lock, rate);
	show(&destroy_lock, rate);
	show(&alloc_ber, rate);
	show(&free_ber, rate);
	show(&alloc_entry, rate);
}
