/* SPDX-License-Identifier: MIT */
/*
 * A process that is worth looking at: very many slabs, and threads at work.
 *
 *   inspect-load SLABS THREADS
 *
 * It fills SLABS slabs of one cache, then says "ready". From then on each line on
 * standard input makes it print what it did since the last one: the operations of its
 * threads, the elapsed time, and the CPU time of the whole process,
 * "OPERATIONS NANOSECONDS NANOSECONDS". It ends with its input.
 *
 * The memory of the objects is given back to the system behind libslab's back, so
 * that a million slabs fit into any machine; their descriptors are what is read.
 */
#include "posix.h"

#include <slab/slab.h>

#define OBJECT_BYTES 5000 /* 13 of them in the smallest slab, 64 KiB */
#define OBJECTS 13
#define SLAB_BYTES 65536
#define BATCH 256

static _Atomic uint64_t operations;
static atomic_bool stop;

static bool fill(struct slab_cache *cache, unsigned long slabs)
{
	for (unsigned long i = 0; i < slabs; i++) {
		uintptr_t first = 0;

		for (unsigned j = 0; j < OBJECTS; j++) {
			void *obj = slab_alloc(cache);

			if (!obj)
				return false;
			first = (uintptr_t)obj & ~(uintptr_t)(SLAB_BYTES - 1);
		}
		madvise((void *)first, SLAB_BYTES, MADV_DONTNEED);
		if (i % 10000 == 9999)
			fprintf(stderr, "\r%lu of %lu slabs", i + 1, slabs);
	}
	fputc('\n', stderr);
	return true;
}

/* What servers do: some objects come and go at once, some in batches. */
static void *work(void *arg)
{
	struct slab_cache *cache = arg;
	void *objs[BATCH];

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		for (unsigned i = 0; i < BATCH; i++)
			objs[i] = slab_alloc(cache);
		for (unsigned i = 0; i < BATCH; i++)
			slab_free(cache, objs[i]);
		for (unsigned i = 0; i < BATCH; i++)
			slab_free(cache, slab_alloc(cache));
		atomic_fetch_add_explicit(&operations, UINT64_C(2) * BATCH, memory_order_relaxed);
	}
	return NULL;
}

struct moment {
	uint64_t operations, elapsed, cpu;
};

static struct moment this_moment(void)
{
	return (struct moment){
		.operations = atomic_load(&operations),
		.elapsed = bench_ns(CLOCK_MONOTONIC),
		.cpu = bench_ns(CLOCK_PROCESS_CPUTIME_ID),
	};
}

static void answer(void)
{
	struct moment since = this_moment();
	char line[16];

	while (fgets(line, sizeof(line), stdin)) {
		const struct moment now = this_moment();

		printf("%llu %llu %llu\n", (unsigned long long)(now.operations - since.operations),
		       (unsigned long long)(now.elapsed - since.elapsed),
		       (unsigned long long)(now.cpu - since.cpu));
		fflush(stdout);
		since = now;
	}
}

int main(int argc, char **argv)
{
	unsigned long slabs = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
	unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
	struct slab_cache *many = slab_cache_create("many", OBJECT_BYTES, NULL, 0);
	struct slab_cache *busy = slab_cache_create("busy", 200, NULL, 0);
	pthread_t thread[64];

	if (threads < 1 || threads > 64 || !slabs) {
		fprintf(stderr, "usage: inspect-load SLABS THREADS, at most 64 threads\n");
		return 2;
	}
	if (!many || !busy || !fill(many, slabs)) {
		perror("inspect-load");
		return 1;
	}
	for (unsigned i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, work, busy);
	puts("ready");
	fflush(stdout);
	answer();
	atomic_store(&stop, true);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
