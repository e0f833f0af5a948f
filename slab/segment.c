/* SPDX-License-Identifier: MIT */
/*
 * The page layer: segments and the free slabs in them.
 *
 * A segment is SEGMENT_SIZE bytes of address space aligned to its size, never
 * unmapped:
 *
 *   guard | head | table | descriptor + stack, … | links | side | guard | slabs …
 *
 * Any address in it leads to the head by masking and through the table to its
 * slab's descriptor. Descriptors, stacks and links stand between guard pages,
 * where no overflowing object reaches them, and slabs are whole powers of two.
 *
 * All slabs of a segment have one geometry: size, room for objects, and, for
 * slabs with debug letters, room for what is known about them (side). A free
 * slab waits in its geometry's list for its node, with the memory it already
 * has; segment_trim() gives that memory back. Memory is asked for in batches
 * (slab_populate), since a page fault costs more than everything else here.
 *
 * One lock protects the lists; it is held for a few instructions, except while
 * a segment is mapped.
 */
#include <errno.h>
#include <string.h>

#include "fail.h"
#include "slab_internal.h"

#define GEOMETRIES_MAX 256
#define PAGE ((size_t)4096)
#define ROOM_STEP 64u /* rooms are rounded up, so that caches share segments */
#define SIDE_STEP ((size_t)4096)
#define ADDRESS_BITS 48
#define TRIM_BATCH 16u /* slabs whose memory goes back while the lock is free */

struct geometry {
	unsigned slab_shift;
	unsigned room; /* objects that stack and links have entries for */
	size_t side;   /* bytes for a slab's struct slab_debug; 0: without letters */
	struct slab *free[SLAB_STATS_MAX_NODES]; /* that hold memory: taken first */
	struct slab *bare[SLAB_STATS_MAX_NODES]; /* that hold none */
};

static pthread_mutex_t pages_lock = PTHREAD_MUTEX_INITIALIZER;
static struct geometry geometries[GEOMETRIES_MAX];
static unsigned geometry_count;
struct pages slab_pages;

/* What addresses between slabs lead to: owned by nobody, of no cache. */
struct slab slab_nowhere = {
	.cpu = {.owner = CPU_NONE, .size8 = 1, .reciprocal = UINT64_C(1) << 32},
	.remote = REMOTE_OWNED,
};

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) & ~(to - 1);
}

/* One bit for each SEGMENT_SIZE bytes of the address space. */
static uint64_t known[1u << (ADDRESS_BITS - SEGMENT_SHIFT - 6)];

static void set_known(const char *start, bool is_known)
{
	uintptr_t n = (uintptr_t)start >> SEGMENT_SHIFT;
	uint64_t bit = UINT64_C(1) << n % 64;

	if (is_known)
		__atomic_fetch_or(&known[n / 64], bit, __ATOMIC_RELEASE);
	else
		__atomic_fetch_and(&known[n / 64], ~bit, __ATOMIC_RELEASE);
}

bool segment_known(const void *ptr)
{
	uintptr_t n = (uintptr_t)ptr >> SEGMENT_SHIFT;

	if (n / 64 >= sizeof(known) / sizeof(known[0]))
		return false;
	return __atomic_load_n(&known[n / 64], __ATOMIC_ACQUIRE) >> n % 64 & 1;
}

void segment_lock(void)
{
	pthread_mutex_lock(&pages_lock);
}

void segment_unlock(void)
{
	pthread_mutex_unlock(&pages_lock);
}

static struct geometry *get(unsigned slab_shift, unsigned objects, size_t side)
{
	unsigned room = (objects + ROOM_STEP - 1) / ROOM_STEP * ROOM_STEP;
	struct geometry *found = NULL;

	segment_lock();
	for (unsigned i = 0; i < geometry_count && !found; i++)
		if (geometries[i].slab_shift == slab_shift && geometries[i].room == room &&
		    geometries[i].side == side)
			found = &geometries[i];
	if (!found && geometry_count < GEOMETRIES_MAX) {
		found = &geometries[geometry_count++];
		found->slab_shift = slab_shift;
		found->room = room;
		found->side = side;
	}
	segment_unlock();
	if (!found)
		errno = ENOMEM;
	return found;
}

struct geometry *geometry_get(unsigned slab_shift, unsigned objects)
{
	return get(slab_shift, objects, 0);
}

struct geometry *geometry_get_debug(unsigned slab_shift, unsigned objects, size_t side)
{
	return get(slab_shift, objects, round_up(side, SIDE_STEP));
}

bool geometry_is_debug(const struct geometry *geometry)
{
	return geometry && geometry->side;
}

static unsigned stride_of(unsigned room)
{
	return (unsigned)round_up(sizeof(struct slab) + room * sizeof(uint16_t), CPU_CACHELINE);
}

/* Offset of the first side area: behind guard, head, descriptors and links. */
static size_t side_offset(const struct geometry *geometry, unsigned n)
{
	size_t links = 2 * PAGE + round_up((size_t)n * stride_of(geometry->room), PAGE);

	return round_up(links + (size_t)n * geometry->room * sizeof(uint16_t), PAGE);
}

/* Bytes before the second guard, with n slabs. */
static size_t head_bytes(const struct geometry *geometry, unsigned n)
{
	return side_offset(geometry, n) + n * geometry->side;
}

static unsigned slabs_that_fit(const struct geometry *geometry)
{
	unsigned shift = geometry->slab_shift, n = SEGMENT_SIZE >> shift;

	while (round_up(head_bytes(geometry, n) + PAGE, (size_t)1 << shift) + ((size_t)n << shift) >
	       SEGMENT_SIZE)
		n--;
	return n;
}

/* Fill in the head of a fresh segment; slabs become known through the table. */
static void segment_format(struct segment *segment, struct geometry *geometry, unsigned node)
{
	unsigned n = slabs_that_fit(geometry);
	char *start = segment_start(segment);
	struct slab **table = (struct slab **)(start + SEGMENT_TABLE_OFFSET);
	size_t objects = SEGMENT_SIZE - ((size_t)n << geometry->slab_shift);

	segment->magic = SEGMENT_MAGIC;
	segment->geometry = geometry;
	segment->mapped = SEGMENT_SIZE;
	segment->slabs = n;
	segment->stride = stride_of(geometry->room);
	segment->first = start + 2 * PAGE;
	segment->base = start + objects;
	segment->node = node;
	segment->slab_shift = geometry->slab_shift;
	segment->side = geometry->side;
	segment->head_bytes = head_bytes(geometry, n);
	for (unsigned u = 0; u < SEGMENT_UNITS; u++) {
		size_t at = (size_t)u << SEGMENT_UNIT_SHIFT;

		table[u] = at < objects ? &slab_nowhere
					: segment_slab(segment, (unsigned)((at - objects) >>
									   geometry->slab_shift));
	}
}

static void push(struct slab **list, struct slab *slab)
{
	slab->next = *list;
	*list = slab;
}

/* NULL: the list is empty. */
static struct slab *pop(struct slab **list)
{
	struct slab *slab = *list;

	if (slab)
		*list = slab->next;
	return slab;
}

static void segment_list_slabs(struct segment *segment)
{
	struct geometry *geometry = segment->geometry;
	char *links = segment->first + round_up((size_t)segment->slabs * segment->stride, PAGE);
	char *side = segment_start(segment) + side_offset(geometry, segment->slabs);

	for (unsigned i = segment->slabs; i-- > 0;) {
		struct slab *slab = segment_slab(segment, i);

		slab->cpu.owner = CPU_NONE;
		slab->cpu.base = segment->base + ((size_t)i << segment->slab_shift);
		slab->remote = REMOTE_OWNED;
		slab->links = (uint16_t *)links + (size_t)i * geometry->room;
		if (geometry->side)
			slab->debug = (struct slab_debug *)(side + i * geometry->side);
		slab->node = (uint8_t)segment->node;
		push(&geometry->bare[segment->node], slab);
	}
	segment->next = slab_pages.segments;
	__atomic_store_n(&slab_pages.segments, segment, __ATOMIC_RELEASE);
	slab_pages.segment_count++;
}

/* Called with the lock. */
static bool segment_create(struct geometry *geometry, unsigned node)
{
	char *start = os_map(SEGMENT_SIZE, SEGMENT_SIZE), *guard;
	struct segment *segment = (struct segment *)(start + SEGMENT_HEAD_OFFSET);

	if (!start)
		return false;
	if (topology_is_real() && topology_nodes() > 1)
		os_bind(start, SEGMENT_SIZE, node);
	segment_format(segment, geometry, node);
	guard = start + head_bytes(geometry, segment->slabs);
	/* The first page too: the segment before ends where this one starts. */
	os_protect(start, SEGMENT_HEAD_OFFSET);
	os_protect(guard, (size_t)(segment->base - guard));
	segment_list_slabs(segment);
	set_known(start, true);
	return true;
}

struct slab *segment_take_slab(struct geometry *geometry, unsigned node)
{
	struct slab *slab = NULL;

	if (fail_pages()) {
		errno = ENOMEM;
		return NULL;
	}
	segment_lock();
	if (geometry->free[node])
		slab = pop(&geometry->free[node]);
	else if (geometry->bare[node] || segment_create(geometry, node))
		slab = pop(&geometry->bare[node]);
	if (slab)
		slab_pages.free_slab_bytes -= slab->populated;
	segment_unlock();
	return slab;
}

void segment_free_slab(struct slab *slab)
{
	struct geometry *geometry = segment_of(slab)->geometry;

	__atomic_store_n(&slab->cpu.user, NULL, __ATOMIC_RELEASE);
	segment_lock();
	push(slab->populated ? &geometry->free[slab->node] : &geometry->bare[slab->node], slab);
	slab_pages.free_slab_bytes += slab->populated;
	segment_unlock();
}

/* Give the memory of some free slabs back, outside of the lock: how many they were. */
static unsigned trim_some(struct geometry *geometry, unsigned node)
{
	struct slab *slab, *hand = NULL;
	unsigned n = 0;

	segment_lock();
	while (n < TRIM_BATCH && (slab = pop(&geometry->free[node]))) {
		slab_pages.free_slab_bytes -= slab->populated;
		push(&hand, slab);
		n++;
	}
	segment_unlock();
	for (slab = hand; slab; slab = slab->next) {
		os_discard(slab->cpu.base, slab_bytes(slab));
		__atomic_store_n(&slab->populated, 0, __ATOMIC_RELAXED);
	}
	segment_lock();
	while ((slab = pop(&hand)))
		push(&geometry->bare[node], slab);
	segment_unlock();
	return n;
}

unsigned segment_trim(void)
{
	unsigned count, trimmed = 0, n;
	uint64_t most;

	segment_lock();
	count = geometry_count;
	/* No more than there are, however many others free meanwhile. */
	most = slab_pages.segment_count * SEGMENT_UNITS;
	segment_unlock();
	for (unsigned g = 0; g < count; g++)
		for (unsigned node = 0; node < topology_nodes(); node++)
			while (trimmed < most && (n = trim_some(&geometries[g], node)))
				trimmed += n;
	return trimmed;
}

struct segment *segment_first(void)
{
	return __atomic_load_n(&slab_pages.segments, __ATOMIC_ACQUIRE);
}

void slab_populate(struct slab *slab, size_t bytes)
{
	size_t end = round_up(bytes, PAGE);

	if (end > slab_bytes(slab))
		end = slab_bytes(slab);
	if (end <= slab->populated)
		return;
	os_populate(slab->cpu.base + slab->populated, end - slab->populated);
	__atomic_store_n(&slab->populated, (uint32_t)end, __ATOMIC_RELAXED);
}

/*
 * A large allocation is a mapping of its own behind a segment's head, so that
 * its address leads to a descriptor like any other. Only its first segment has
 * a table, and its address lies in there.
 */
struct slab *segment_map_large(size_t bytes, size_t align)
{
	size_t offset = round_up(3 * PAGE, align > PAGE ? align : PAGE);
	size_t mapped = round_up(offset + bytes, PAGE);

	if (mapped < bytes || fail_pages()) {
		errno = ENOMEM;
		return NULL;
	}

	char *start = os_map(mapped, SEGMENT_SIZE);

	if (!start)
		return NULL;

	struct segment *segment = (struct segment *)(start + SEGMENT_HEAD_OFFSET);
	struct slab **table = (struct slab **)(start + SEGMENT_TABLE_OFFSET);
	struct slab *slab = (struct slab *)(start + 2 * PAGE);

	os_protect(start, SEGMENT_HEAD_OFFSET);
	*segment = (struct segment){.magic = SEGMENT_MAGIC, .mapped = mapped, .slabs = 1};
	segment->first = (char *)slab;
	segment->base = start + offset;
	for (unsigned u = 0; u < SEGMENT_UNITS; u++)
		table[u] = slab;
	slab->cpu.owner = CPU_NONE;
	slab->cpu.base = segment->base;
	slab->remote = REMOTE_OWNED;
	slab->large = bytes;
	set_known(start, true);
	__atomic_fetch_add(&slab_pages.large_bytes, mapped, __ATOMIC_RELAXED);
	return slab;
}

void segment_unmap_large(struct slab *slab)
{
	struct segment *segment = segment_of(slab);

	__atomic_fetch_sub(&slab_pages.large_bytes, segment->mapped, __ATOMIC_RELAXED);
	set_known(segment_start(segment), false);
	os_unmap(segment_start(segment), segment->mapped);
}

bool segment_resize_large(struct slab *slab, size_t bytes)
{
	struct segment *segment = segment_of(slab);
	size_t mapped = round_up((size_t)(segment->base - segment_start(segment)) + bytes, PAGE);

	/* All but the guard page, which is a mapping of its own. */
	if (mapped < bytes || !os_resize(segment, segment->mapped - SEGMENT_HEAD_OFFSET,
					 mapped - SEGMENT_HEAD_OFFSET))
		return false;
	segment_count_large((long)(mapped - segment->mapped));
	segment->mapped = mapped;
	return true;
}

void segment_count_large(long bytes)
{
	__atomic_fetch_add(&slab_pages.large_bytes, (uint64_t)bytes, __ATOMIC_RELAXED);
}
