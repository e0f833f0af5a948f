/* SPDX-License-Identifier: MIT */
/* Mutexes that libslab locks (mutexes.h). */
#include "mutexes.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define SITES 512u
#define HELD_MAX 64u

static int (*real_lock)(pthread_mutex_t *);
static int (*real_trylock)(pthread_mutex_t *);
static int (*real_unlock)(pthread_mutex_t *);

static struct site {
	const void *caller, *mutex;
	uint64_t acquisitions, cycles;
} sites[SITES];
static bool counts;

static __thread struct held {
	struct site *site;
	const void *mutex;
	uint64_t since;
} held[HELD_MAX];
static __thread unsigned nr_held;

__attribute__((constructor(101))) static void find_real(void)
{
	*(void **)&real_lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	*(void **)&real_trylock = dlsym(RTLD_NEXT, "pthread_mutex_trylock");
	*(void **)&real_unlock = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
}

/* One thread runs at a time (cpus.h). */
static struct site *find(const void *caller, const void *mutex)
{
	for (unsigned i = 0; i < SITES; i++) {
		if (!sites[i].caller)
			sites[i] = (struct site){caller, mutex, 0, 0};
		if (sites[i].caller == caller && sites[i].mutex == mutex)
			return &sites[i];
	}
	return NULL;
}

static void begin(const void *caller, const void *mutex)
{
	struct site *site = counts && nr_held < HELD_MAX ? find(caller, mutex) : NULL;

	if (!site)
		return;
	site->acquisitions++;
	held[nr_held++] = (struct held){site, mutex, __builtin_ia32_rdtsc()};
}

static void end(const void *mutex)
{
	const uint64_t now = __builtin_ia32_rdtsc();

	for (unsigned i = nr_held; i-- > 0;) {
		if (held[i].mutex != mutex)
			continue;
		held[i].site->cycles += now - held[i].since;
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
	begin(__builtin_return_address(0), mutex);
	return error;
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	int error;

	if (!real_trylock)
		find_real();
	error = real_trylock(mutex);
	if (!error)
		begin(__builtin_return_address(0), mutex);
	return error;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	if (!real_unlock)
		find_real();
	if (nr_held)
		end(mutex);
	return real_unlock(mutex);
}

void mutexes_count(bool on)
{
	counts = on;
}

static double cycles_per_ns(void)
{
	struct timespec from, to;
	const uint64_t before = __builtin_ia32_rdtsc();
	double ns;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		clock_gettime(CLOCK_MONOTONIC, &to);
		ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
	} while (ns < 1e7);
	return (double)(__builtin_ia32_rdtsc() - before) / ns;
}

/* The offset of an address in its library; 0: in none. */
static uintptr_t offset_of(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) ? (uintptr_t)address - (uintptr_t)info.dli_fbase : 0;
}

void mutexes_print(FILE *out)
{
	const double rate = cycles_per_ns();

	for (const struct site *site = sites; site < sites + SITES && site->caller; site++) {
		fprintf(out, "lock %#jx ", (uintmax_t)offset_of(site->caller));
		if (offset_of(site->mutex))
			fprintf(out, "%#jx", (uintmax_t)offset_of(site->mutex));
		else
			fputs("cache", out);
		fprintf(out, " %ju %.1f\n", (uintmax_t)site->acquisitions,
			(double)site->cycles / rate / (double)site->acquisitions);
	}
}
