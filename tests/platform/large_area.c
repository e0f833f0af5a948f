/* SPDX-License-Identifier: MIT */
/*
 * glibc 2.41 and newer, simulated: struct rseq is larger than its first 32 bytes, __rseq_size is
 * that of the fields that the kernel fills, and the area stands where the C library wants it.
 * glibc's own registration is switched off (GLIBC_TUNABLES=glibc.pthread.rseq=0, which the test
 * sets), and each thread registers an area of this program. Exit status 77: the kernel has no such
 * areas.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <slab/slab.h>

#ifdef __x86_64__
#define SIGNATURE 0x53053053
#else
#define SIGNATURE 0xd428bc00 /* aarch64 */
#endif

enum { THREADS = 4, OBJECTS = 1000, ROUNDS = 100 };

/* What libslab reads of the C library. */
ptrdiff_t __rseq_offset;
unsigned int __rseq_size = 40; /* of the area below */

static __thread struct {
	uint32_t cpu_id_start, cpu_id;
	uint64_t rseq_cs;
	uint32_t flags, node_id, mm_cid;
	uint32_t later[9];
} area __attribute__((aligned(64)));

static struct slab_cache *cache;

static void require(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "large_area: %s\n", what);
	exit(1);
}

static void register_area(void)
{
	if (syscall(SYS_rseq, &area, sizeof(area), 0, SIGNATURE) == 0)
		return;
	fprintf(stderr, "large_area: rseq(2) of %zu bytes: %s\n", sizeof(area), strerror(errno));
	exit(77);
}

static void *work(void *arg)
{
	static __thread size_t *objects[OBJECTS];
	const size_t mark = (size_t)arg;

	register_area();
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < OBJECTS; i++) {
			objects[i] = slab_alloc(cache);
			require(objects[i] != NULL, "an allocation failed");
			*objects[i] = mark << 32 | i;
		}
		for (size_t i = 0; i < OBJECTS; i++) {
			require(*objects[i] == (mark << 32 | i), "an object was handed out twice");
			slab_free(cache, objects[i]);
		}
		require(slab_cache_shrink(cache) >= 0, "shrinking failed");
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	__rseq_offset = (char *)&area - (char *)__builtin_thread_pointer();
	register_area();
	require(strcmp(slab_engine(), "rseq") == 0, "the engine is not rseq");
	cache = slab_cache_create("entry", 64, NULL, 0);
	require(cache != NULL, "no cache");
	for (size_t i = 0; i < THREADS; i++)
		require(pthread_create(&threads[i], NULL, work, (void *)i) == 0, "no thread");
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	require(slab_cache_destroy(cache) == 0, "objects are left");
	return 0;
}
