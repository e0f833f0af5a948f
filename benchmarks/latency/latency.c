/* SPDX-License-Identifier: MIT */
/*
 * The cost of a large heap for other threads. For each operation on a cache of many slabs, the
 * program measures how long locks of libslab were held, by the place of the unlock, and the
 * longest stall of another thread that allocates and frees all the time. It prints lines
 * of case,size,metric,value: for each operation its time and the longest stall, and for
 * each place in libslab (operation@offset) the longest hold, the duration that 999 of 1000
 * holds do not exceed, and the number above 50 µs.
 *
 * The program defines the lock functions that libslab calls; they measure and call the real
 * ones. It measures a hold in CPU time of the thread, so that a busy machine does not count
 * but system calls do. It also defines madvise(), without populating: a million slabs then
 * take address space, but little memory.
 */
#include "posix.h"

#include <dlfcn.h>
#include <slab/memory.h>
#include <slab/slab.h>
#include <sys/syscall.h>

#define POPULATE_WRITE 23
#define HELD_MAX 1024
#define SITES 64u
#define OBJECT ((size_t)4096)
#define PER_SLAB 16u
#define RUNS 3
#define BATCH 64
#define LONG_US 50
#define LONGEST_US 1000u

static int (*real_lock)(pthread_mutex_t *);
static int (*real_trylock)(pthread_mutex_t *);
static int (*real_unlock)(pthread_mutex_t *);

struct held {
	pthread_mutex_t *mutex;
	uint64_t since;
};

static __thread struct held held[HELD_MAX];
static __thread unsigned nr_held;
static bool measures; /* of all threads: passes of decay have their own */
static struct site {
	void *at;
	uint64_t ns;
	unsigned holds, long_holds;
	unsigned of_us[LONGEST_US + 1]; /* by their duration; the last: longer ones, too */
} sites[SITES];

__attribute__((constructor(101))) static void find_real(void)
{
	*(void **)&real_lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	*(void **)&real_trylock = dlsym(RTLD_NEXT, "pthread_mutex_trylock");
	*(void **)&real_unlock = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
}

static void begin(pthread_mutex_t *mutex)
{
	if (__atomic_load_n(&measures, __ATOMIC_RELAXED) && nr_held < HELD_MAX)
		held[nr_held++] = (struct held){mutex, bench_ns(CLOCK_THREAD_CPUTIME_ID)};
}

/* Of two threads at once one may be lost. */
static void add(struct site *site, uint64_t ns)
{
	uint64_t us = ns / 1000;

	if (ns > __atomic_load_n(&site->ns, __ATOMIC_RELAXED))
		__atomic_store_n(&site->ns, ns, __ATOMIC_RELAXED);
	__atomic_fetch_add(&site->holds, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&site->long_holds, us >= LONG_US, __ATOMIC_RELAXED);
	__atomic_fetch_add(&site->of_us[us < LONGEST_US ? us : LONGEST_US], 1, __ATOMIC_RELAXED);
}

static void note(void *at, uint64_t ns)
{
	for (unsigned i = 0; i < SITES; i++) {
		void *none = NULL;

		if (__atomic_load_n(&sites[i].at, __ATOMIC_RELAXED) != at &&
		    !__atomic_compare_exchange_n(&sites[i].at, &none, at, false, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED))
			continue;
		add(&sites[i], ns);
		return;
	}
}

static void end(pthread_mutex_t *mutex, void *at)
{
	for (unsigned i = nr_held; i-- > 0;) {
		if (held[i].mutex != mutex)
			continue;
		note(at, bench_ns(CLOCK_THREAD_CPUTIME_ID) - held[i].since);
		held[i] = held[--nr_held];
		return;
	}
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int error;

	if (!real_lock)
		find_real();
	error = real_lock(mutex);
	begin(mutex);
	return error;
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	int error;

	if (!real_trylock)
		find_real();
	error = real_trylock(mutex);
	if (!error)
		begin(mutex);
	return error;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	if (!real_unlock)
		find_real();
	if (nr_held)
		end(mutex, __builtin_return_address(0));
	return real_unlock(mutex);
}

int madvise(void *start, size_t bytes, int advice)
{
	return advice == POPULATE_WRITE ? 0 : (int)syscall(SYS_madvise, start, bytes, advice);
}

/* --- the other thread ------------------------------------------------------------ */

static struct slab_cache *cache;
static size_t nr_slabs;
static void **objs;
static uint64_t stall;
static bool stop;

/* More objects than its CPU has at hand, so that it comes by the node's list. */
static void *work(void *unused)
{
	void *mine[BATCH];

	(void)unused;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		uint64_t before = bench_ns(CLOCK_MONOTONIC), ns;

		for (unsigned i = 0; i < BATCH; i++)
			mine[i] = slab_alloc(cache);
		for (unsigned i = 0; i < BATCH; i++)
			slab_free(cache, mine[i]);
		ns = bench_ns(CLOCK_MONOTONIC) - before;
		if (ns > __atomic_load_n(&stall, __ATOMIC_RELAXED))
			__atomic_store_n(&stall, ns, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* --- operations -------------------------------------------------------------------- */

static void shrink(void)
{
	slab_cache_shrink(cache);
}

/* The control thread runs passes: SLAB_DECAY_MS says how often. */
static void decay(void)
{
	usleep(1000000);
}

static void validate(void)
{
	slab_cache_validate(cache);
}

static void trim(void)
{
	slab_trim();
}

static void create_caches(void)
{
	struct slab_cache *caches[500];
	char name[32];

	for (unsigned i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "few%u", i);
		caches[i] = slab_cache_create(name, 64 + i * 8, NULL, 0);
		slab_free(caches[i], slab_alloc(caches[i]));
	}
	for (unsigned i = 0; i < 500; i++)
		slab_cache_destroy(caches[i]);
}

static void allocate_cold(void)
{
	const size_t n = 20000;
	void **cold = malloc(n * sizeof(*cold));

	for (size_t i = 0; i < n; i++)
		cold[i] = slab_alloc(cache);
	for (size_t i = 0; i < n; i++)
		slab_free(cache, cold[i]);
	free(cold);
}

static void destroy(void)
{
	for (size_t i = 0; i < nr_slabs; i++)
		slab_free(cache, objs[i]);
	slab_cache_destroy(cache);
}

/* 999 of 1000 holds are no longer: in µs, rounded up. */
static unsigned usual(const struct site *site)
{
	unsigned left = site->holds / 1000, us = LONGEST_US;

	while (us && left >= site->of_us[us])
		left -= site->of_us[us--];
	return us + 1;
}

static void print_figure(const char *what, size_t at, const char *metric, double value)
{
	if (at)
		printf("%s@%#zx,0,%s,%.9f\n", what, at, metric, value);
	else
		printf("%s,0,%s,%.9f\n", what, metric, value);
}

static void print_sites(const char *what)
{
	for (unsigned i = 0; i < SITES && sites[i].at; i++) {
		Dl_info info;
		size_t at;

		if (!dladdr(sites[i].at, &info) || !info.dli_fbase)
			continue;
		at = (size_t)((char *)sites[i].at - (char *)info.dli_fbase) - 1;
		print_figure(what, at, "hold", (double)sites[i].ns / 1e9);
		print_figure(what, at, "hold99.9", usual(&sites[i]) / 1e6);
		print_figure(what, at, "above50", sites[i].long_holds);
	}
	fflush(stdout);
}

static void measure(const char *what, void (*act)(void), bool beside)
{
	pthread_t other;
	uint64_t before;

	stop = false;
	if (beside)
		pthread_create(&other, NULL, work, NULL);
	usleep(10000);
	for (unsigned i = 0; i < SITES; i++)
		sites[i] = (struct site){0};
	__atomic_store_n(&stall, 0, __ATOMIC_RELAXED);
	before = bench_ns(CLOCK_MONOTONIC);
	__atomic_store_n(&measures, true, __ATOMIC_RELAXED);
	act();
	__atomic_store_n(&measures, false, __ATOMIC_RELAXED);
	before = bench_ns(CLOCK_MONOTONIC) - before;
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	if (beside)
		pthread_join(other, NULL);
	print_figure(what, 0, "time", (double)before / 1e9);
	if (beside)
		print_figure(what, 0, "stall", (double)stall / 1e9);
	print_sites(what);
}

/* One object in each slab. */
static bool make_heap(void)
{
	cache = slab_cache_create("heap", OBJECT, NULL, 0);
	objs = malloc(nr_slabs * sizeof(*objs));
	if (!cache || !objs)
		return false;
	for (size_t i = 0; i < nr_slabs; i++) {
		void *others[PER_SLAB - 1];

		objs[i] = slab_alloc(cache);
		for (unsigned k = 0; k < PER_SLAB - 1; k++)
			others[k] = slab_alloc(cache);
		if (!others[PER_SLAB - 2])
			return false;
		/* Kept until all slabs are there. */
		*(void **)objs[i] = others[0];
		for (unsigned k = 0; k + 1 < PER_SLAB - 1; k++)
			((void **)objs[i])[k + 1] = others[k + 1];
	}
	for (size_t i = 0; i < nr_slabs; i++)
		for (unsigned k = 0; k < PER_SLAB - 1; k++)
			slab_free(cache, ((void **)objs[i])[k]);
	return true;
}

int main(int argc, char **argv)
{
	nr_slabs = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
	if (!make_heap()) {
		fprintf(stderr, "no memory for %zu slabs: mappings?\n", nr_slabs);
		return 1;
	}
	if (getenv("SLAB_DECAY_MS")) {
		measure("decay", decay, true);
		return 0;
	}
	measure("first", shrink, true);
	measure("shrink", shrink, true);
	measure("validate", validate, true);
	measure("trim", trim, true);
	measure("caches", create_caches, true);
	measure("cold", allocate_cold, true);
	measure("destroy", destroy, false);
	return 0;
}
