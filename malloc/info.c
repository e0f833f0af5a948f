/* SPDX-License-Identifier: MIT */
/*
 * What the C library tells about its heap, told about libslab's. The numbers of the process and of
 * all caches are read one after the other, while other threads go on.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <slab/memory.h>
#include <slab/slab.h>
#include <slab/stats.h>

struct heap {
	struct slab_process_stats process;
	uint64_t used; /* bytes of slabs but for free objects that CPUs hold: an upper bound */
};

/* Another thread may have allocated or freed between the two numbers. */
static uint64_t less(uint64_t from, uint64_t bytes)
{
	return from > bytes ? from - bytes : 0;
}

static int add_used(struct slab_cache *cache, void *arg)
{
	struct slab_stats stats = {.struct_size = sizeof(stats)};
	struct heap *heap = arg;

	if (slab_cache_stats(cache, &stats) == 0)
		heap->used += less(stats.slab_bytes,
				   less(stats.total_objects, stats.objects) * stats.slab_size);
	return 0;
}

static void read_heap(struct heap *heap)
{
	*heap = (struct heap){.process = {.struct_size = sizeof(heap->process)}};
	slab_process_stats(&heap->process);
	slab_for_each_cache(add_used, heap);
}

/* Slabs are the arena, large allocations the mappings, free slabs what malloc_trim() returns. */
struct mallinfo2 mallinfo2(void)
{
	struct heap heap;

	read_heap(&heap);
	return (struct mallinfo2){
		.arena = heap.process.slab_bytes + heap.process.cached_bytes,
		.ordblks = heap.process.caches,
		.hblkhd = heap.process.large_bytes,
		.uordblks = heap.used,
		.fordblks = less(heap.process.slab_bytes, heap.used) + heap.process.cached_bytes,
		.keepcost = heap.process.cached_bytes,
	};
}

static int clamp(size_t n)
{
	return n < INT_MAX ? (int)n : INT_MAX;
}

/* The C library's numbers wrap around; these stay at the largest number instead. */
struct mallinfo mallinfo(void)
{
	struct mallinfo2 info = mallinfo2();

	return (struct mallinfo){
		.arena = clamp(info.arena),
		.ordblks = clamp(info.ordblks),
		.hblkhd = clamp(info.hblkhd),
		.uordblks = clamp(info.uordblks),
		.fordblks = clamp(info.fordblks),
		.keepcost = clamp(info.keepcost),
	};
}

/* Not to the stream: stderr may be locked by the caller, and its buffer allocated. */
void malloc_stats(void)
{
	char text[400];
	struct heap heap;
	int len;

	read_heap(&heap);
	len = snprintf(text, sizeof(text),
		       "libslab %s, engine %s, %u caches\n"
		       "slab bytes       = %10" PRIu64 "\n"
		       "free slab bytes  = %10" PRIu64 "\n"
		       "in use bytes     = %10" PRIu64 "\n"
		       "large bytes      = %10" PRIu64 "\n"
		       /* The C library's last line, which programs look for. */
		       "max mmap bytes   = %10" PRIu64 " (present, no maximum is kept)\n",
		       slab_version(), heap.process.engine, heap.process.caches,
		       heap.process.slab_bytes, heap.process.cached_bytes, heap.used,
		       heap.process.large_bytes, heap.process.large_bytes);
	slab_write_stderr(text, (size_t)len);
}

/* Names of caches may have characters that XML gives a meaning. */
static void write_name(const char *name, FILE *file)
{
	for (; *name; name++)
		if (strchr("<>&\"'", *name))
			fprintf(file, "&#%d;", *name);
		else
			putc(*name, file);
}

static int write_cache(struct slab_cache *cache, void *file)
{
	struct slab_stats stats = {.struct_size = sizeof(stats)};

	if (slab_cache_stats(cache, &stats) != 0)
		return 0;
	fputs("<cache name=\"", file);
	write_name(stats.name, file);
	fprintf(file,
		"\" size=\"%zu\" used=\"%" PRIu64 "\" count=\"%" PRIu64 "\" slabs=\"%" PRIu64
		"\" bytes=\"%" PRIu64 "\"/>\n",
		stats.slab_size, stats.objects, stats.total_objects, stats.slabs, stats.slab_bytes);
	return 0;
}

/* XML with the C library's elements for the process, and one for each cache. */
int malloc_info(int options, FILE *file)
{
	struct heap heap;

	if (options != 0) {
		errno = EINVAL;
		return -1;
	}
	read_heap(&heap);
	fprintf(file, "<malloc version=\"libslab-%s\" engine=\"%s\">\n", slab_version(),
		heap.process.engine);
	slab_for_each_cache(write_cache, file);
	fprintf(file,
		"<total type=\"rest\" size=\"%" PRIu64 "\"/>\n"
		"<total type=\"mmap\" size=\"%" PRIu64 "\"/>\n"
		"<system type=\"current\" size=\"%" PRIu64 "\"/>\n"
		"</malloc>\n",
		less(heap.process.slab_bytes, heap.used), heap.process.large_bytes,
		heap.process.slab_bytes + heap.process.cached_bytes + heap.process.large_bytes);
	return 0;
}

/* 1 if memory was returned. Memory is returned to the page, so there is no room to keep. */
int malloc_trim(size_t pad)
{
	(void)pad;
	return slab_trim() != 0;
}

/* Accepted: none of the C library's parameters has a meaning here. */
int mallopt(int parameter, int value)
{
	(void)parameter;
	(void)value;
	return 1;
}
