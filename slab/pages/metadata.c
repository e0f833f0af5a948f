/* SPDX-License-Identifier: MIT */
/*
 * The memory of descriptors: arenas, and the blocks in them.
 *
 * An arena is a mapping of its own behind a guard page, so an object that overflows does not reach
 * descriptors. An arena consists of blocks; all descriptors of a block have one class:
 *
 *   guard | struct arena | block | block | …
 *   block: descriptor + stack, … | links, … | struct slab_debug, …
 *
 * Links lie apart from the descriptors, so they take no memory until another CPU frees. The memory
 * of a block is never used for another class, and never unmapped: what a stale pointer to a
 * descriptor leads to is a descriptor, or zeros.
 *
 * A block of which no descriptor is in use returns its memory to the OS after a decay time. The
 * thread that does so isolates the block and holds no lock meanwhile.
 */
#include <errno.h>
#include <slab/stats.h>
#include <string.h>

#include "pages/metadata.h"
#include "base/compiler.h"
#include "base/round.h"
#include "base/signals.h"
#include "pages/account.h"
#include "pages/idle.h"
#include "pages/os.h"
#include "pages/segment.h"
#include "pages/topology.h"

#define ARENA_BYTES ((size_t)METADATA_ARENA_BYTES)
#define BLOCK_BYTES ((size_t)1 << 16)
/* One before the blocks has the guard, another one struct arena. */
#define BLOCKS_BEFORE 2u
#define BLOCKS ((unsigned)(ARENA_BYTES / BLOCK_BYTES) - BLOCKS_BEFORE)
#define CLASSES_MAX 256u
#define ROOM_STEP 64u
#define SIDE_STEP ((size_t)4096)
#define PER_BLOCK_MAX 128u

/* A list of a class and node: blocks with free descriptors. */
struct block_list {
	struct block *first, *last;
};

/* `returning` belongs to the thread that returns the block's memory; the block is on no list. */
struct block {
	struct metadata_class *class; /* NULL: not in use yet */
	struct block *next, *prev;
	uint64_t free[PER_BLOCK_MAX / 64]; /* a bit for each descriptor */
	uint16_t count, free_count, made;  /* made: descriptors that may hold memory */
	uint8_t node;
	bool returning;
	uint32_t idle_since; /* epoch since which all descriptors are free */
};

struct arena {
	struct arena *next; /* older */
	uint64_t mapped; /* bytes: all of ARENA_BYTES, or less where space is short */
	unsigned used; /* blocks that belong to a class */
	struct block block[BLOCKS];
	struct block_list list[CLASSES_MAX]; /* of the node, in its first arena */
};

struct metadata_class {
	unsigned room; /* objects that stack and links have entries for */
	size_t side;
	struct geometry geometry[SLAB_SHIFTS]; /* by the size of slabs */
};

_Static_assert(offsetof(struct arena, next) == 0, "readers follow the list");
_Static_assert(sizeof(struct arena) <= BLOCK_BYTES, "one block before the others has it");

static struct metadata_class classes[CLASSES_MAX];
/* By class, in the node's first arena; NULL: the node has no arena yet. */
static SLAB_EARLY struct block_list *lists[SLAB_STATS_MAX_NODES];
static SLAB_EARLY unsigned class_count;
SLAB_EARLY struct arena *metadata_arenas[SLAB_STATS_MAX_NODES]; /* only the newest has room */

/* --- classes -------------------------------------------------------------------------- */

/* At most a quarter more than `objects`, so that caches of similar sizes share a class. */
static unsigned room_of(unsigned objects)
{
	unsigned step = ROOM_STEP;

	while (objects > 8 * step)
		step *= 2;
	return (unsigned)round_up(objects, step);
}

static struct metadata_class *get_class(unsigned objects, size_t side)
{
	unsigned room = room_of(objects);

	side = round_up(side, SIDE_STEP);
	for (unsigned i = 0; i < class_count; i++)
		if (classes[i].room == room && classes[i].side == side)
			return &classes[i];
	if (class_count == CLASSES_MAX) {
		errno = ENOMEM;
		return NULL;
	}
	classes[class_count].room = room;
	classes[class_count].side = side;
	return &classes[class_count++];
}

struct geometry *metadata_geometry_of(struct metadata_class *class, unsigned slab_shift)
{
	struct geometry *geometry = &class->geometry[slab_shift - SLAB_SHIFT_MIN];

	if (!geometry->metadata)
		*geometry = (struct geometry){.slab_shift = slab_shift, .metadata = class};
	return geometry;
}

struct geometry *metadata_geometry(unsigned slab_shift, unsigned objects, size_t side)
{
	struct metadata_class *class = get_class(objects, side);

	return class ? metadata_geometry_of(class, slab_shift) : NULL;
}

static size_t stride_of(const struct metadata_class *class)
{
	return round_up(CPU_SLAB_STACK + class->room * sizeof(uint16_t), CPU_CACHELINE);
}

static size_t links_of(const struct metadata_class *class)
{
	return class->room * sizeof(uint16_t);
}

/* The bytes of a descriptor with all that belongs to it. */
static size_t bytes_of(const struct metadata_class *class)
{
	return stride_of(class) + links_of(class) + class->side;
}

/* A block has one descriptor if it is larger than BLOCK_BYTES. */
static unsigned count_of(const struct metadata_class *class)
{
	size_t n = BLOCK_BYTES / bytes_of(class);

	return n < 1 ? 1 : n < PER_BLOCK_MAX ? (unsigned)n : PER_BLOCK_MAX;
}

/* The number of BLOCK_BYTES that a block of this class takes. */
static unsigned units_of(const struct metadata_class *class)
{
	return (unsigned)(round_up(count_of(class) * bytes_of(class), BLOCK_BYTES) / BLOCK_BYTES);
}

/* --- blocks --------------------------------------------------------------------------- */

static struct arena *arena_of(const void *ptr)
{
	return (struct arena *)(((uintptr_t)ptr & ~(ARENA_BYTES - 1)) + SEGMENT_HEAD_OFFSET);
}

/* The block that contains a descriptor. Only the first BLOCK_BYTES of a block have descriptors. */
static struct block *block_of(const struct slab *slab)
{
	size_t at = (uintptr_t)slab & (ARENA_BYTES - 1);

	return &arena_of(slab)->block[at / BLOCK_BYTES - BLOCKS_BEFORE];
}

static char *block_start(const struct block *block)
{
	struct arena *arena = arena_of(block);
	size_t i = (size_t)(block - arena->block);

	return (char *)((uintptr_t)arena & ~(ARENA_BYTES - 1)) + (i + BLOCKS_BEFORE) * BLOCK_BYTES;
}

/* The node has an arena. */
static struct block_list *list_of(const struct metadata_class *class, unsigned node)
{
	return &lists[node][class - classes];
}

static void list_add(struct block *block)
{
	struct block_list *list = list_of(block->class, block->node);

	block->next = NULL;
	block->prev = list->last;
	if (list->last)
		list->last->next = block;
	else
		list->first = block;
	list->last = block;
}

static void list_remove(struct block *block)
{
	struct block_list *list = list_of(block->class, block->node);

	if (block->prev)
		block->prev->next = block->next;
	else
		list->first = block->next;
	if (block->next)
		block->next->prev = block->prev;
	else
		list->last = block->prev;
}

/* The bytes of an arena with this number of blocks. */
static size_t bytes_with(unsigned blocks)
{
	return (BLOCKS_BEFORE + blocks) * BLOCK_BYTES;
}

/* Has the newest arena of the node room for a block of this class? */
static bool has_room(const struct metadata_class *class, unsigned node)
{
	const struct arena *arena = metadata_arenas[node];

	return arena && bytes_with(arena->used + units_of(class)) <= arena->mapped;
}

/* Make a block; NULL: the arena has no room. */
static struct block *make_block(struct metadata_class *class, unsigned node)
{
	struct arena *arena = metadata_arenas[node];
	struct block *block;
	unsigned n = count_of(class);

	if (!has_room(class, node))
		return NULL;
	block = &arena->block[arena->used];
	arena->used += units_of(class);
	*block = (struct block){
		.class = class,
		.count = (uint16_t)n,
		.free_count = (uint16_t)n,
		.node = (uint8_t)node,
	};
	for (unsigned i = 0; i < n; i++)
		block->free[i / 64] |= UINT64_C(1) << i % 64;
	list_add(block);
	return block;
}

/* Take the free descriptor with the lowest number of a block; returns its number. */
static unsigned take_lowest(struct block *block)
{
	unsigned word = block->free[0] ? 0 : 1;
	unsigned i = word * 64 + (unsigned)__builtin_ctzll(block->free[word]);

	block->free[word] &= block->free[word] - 1;
	if (--block->free_count == 0)
		list_remove(block);
	if (i >= block->made) {
		slab_pages.metadata_bytes += (i + 1u - block->made) * bytes_of(block->class);
		block->made = (uint16_t)(i + 1);
	}
	return i;
}

/* Threads may read a descriptor through stale pointers, so it is written in whole words. */
static void clear(struct slab *slab)
{
	typedef uint64_t __attribute__((may_alias)) word;
	word *at = (word *)slab;

	for (size_t i = 0; i < sizeof(*slab) / sizeof(word); i++)
		__atomic_store_n(&at[i], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slab->cpu.owner, CPU_NONE, __ATOMIC_RELAXED);
	__atomic_store_n(&slab->remote, REMOTE_OWNED, __ATOMIC_RELAXED);
}

bool metadata_has(const struct metadata_class *class, unsigned node)
{
	return lists[node] && (list_of(class, node)->first || has_room(class, node));
}

struct slab *metadata_take(struct metadata_class *class, unsigned node)
{
	struct block *block = lists[node] ? list_of(class, node)->first : NULL;
	char *start, *links;
	struct slab *slab;
	unsigned i;

	if (!block)
		block = make_block(class, node);
	if (!block)
		return NULL;
	i = take_lowest(block);
	start = block_start(block);
	links = start + block->count * stride_of(class);
	slab = (struct slab *)(start + i * stride_of(class));
	clear(slab);
	slab->links = (uint16_t *)(links + i * links_of(class));
	slab->side = (uint32_t)class->side;
	__atomic_store_n(&slab->node, (uint8_t)node, __ATOMIC_RELAXED);
	if (class->side)
		__atomic_store_n(&slab->debug,
				 (struct slab_debug *)(links + block->count * links_of(class) +
						       i * class->side),
				 __ATOMIC_RELAXED);
	return slab;
}

void metadata_put(struct slab *slab, uint32_t idle_since)
{
	struct block *block = block_of(slab);
	size_t i = (size_t)((char *)slab - block_start(block)) / stride_of(block->class);

	block->free[i / 64] |= UINT64_C(1) << i % 64;
	if (block->free_count++ == 0)
		list_add(block);
	if (block->free_count == block->count)
		block->idle_since = idle_since;
}

/* --- arenas --------------------------------------------------------------------------- */

/* Under the lock. true: the arena is not needed because another thread was faster. */
static bool publish(struct arena *arena, struct metadata_class *class, unsigned node)
{
	if (metadata_has(class, node))
		return true;
	arena->next = metadata_arenas[node];
	if (!lists[node])
		lists[node] = arena->list;
	metadata_arenas[node] = arena;
	slab_pages.metadata_bytes += sizeof(*arena);
	return false;
}

/* Where space is short: map a block behind those of the newest arena. */
static bool grow(const struct metadata_class *class, unsigned node)
{
	struct arena *arena;
	bool done = false;

	segment_lock();
	arena = metadata_arenas[node];
	if (arena && arena->used + units_of(class) <= BLOCKS) {
		const size_t more = bytes_with(arena->used + units_of(class)) - arena->mapped;
		char *start = (char *)arena - SEGMENT_HEAD_OFFSET;

		done = has_room(class, node) || os_map_at(start + arena->mapped, more);
		if (!has_room(class, node) && done)
			arena->mapped += more;
	}
	segment_unlock();
	return done;
}

/* Map an arena, or its first bytes, with its guard in front. */
static struct arena *map_arena(size_t bytes, unsigned node)
{
	char *start = os_map(bytes, ARENA_BYTES);

	if (!start)
		return NULL;
	if (!os_protect(start, SEGMENT_HEAD_OFFSET, false)) {
		os_unmap(start, bytes);
		errno = ENOMEM;
		return NULL;
	}
	if (topology_is_real() && topology_nodes() > 1)
		os_bind(start, bytes, node);
	arena_of(start)->mapped = bytes;
	return arena_of(start);
}

bool metadata_map(struct metadata_class *class, unsigned node)
{
	const bool parts = cpu_space_is_short();
	struct arena *arena;
	bool unused;

	if (units_of(class) > BLOCKS) {
		errno = ENOMEM;
		return false;
	}
	if (parts && grow(class, node))
		return true;
	arena = map_arena(parts ? bytes_with(units_of(class)) : ARENA_BYTES, node);
	if (!arena)
		return false;
	segment_lock();
	unused = publish(arena, class, node);
	segment_unlock();
	if (unused)
		os_unmap((char *)arena - SEGMENT_HEAD_OFFSET, arena->mapped);
	else
		segment_trim_guard((char *)arena - SEGMENT_HEAD_OFFSET);
	return true;
}

/* --- returning memory ----------------------------------------------------------------- */

/* A walk over all blocks. */
struct walk {
	struct arena *arena;
	unsigned i;
	uint32_t epoch;
	bool all; /* also blocks that were free for a shorter time */
};

static bool is_ripe(const struct walk *walk, const struct block *block)
{
	return block->class && !block->returning && block->made &&
	       block->free_count == block->count &&
	       (walk->all || decay_is_ripe(block->idle_since, walk->epoch));
}

/* Under the lock: isolate the next ripe block of this arena. NULL: it has none. */
static struct block *take_ripe(struct walk *walk)
{
	while (walk->i < BLOCKS) {
		struct block *block = &walk->arena->block[walk->i++];

		if (!is_ripe(walk, block))
			continue;
		list_remove(block);
		block->returning = true;
		return block;
	}
	return NULL;
}

/* Under the lock; `done`: the block's memory was returned. */
static void list_again(struct block *block, bool done)
{
	if (done) {
		slab_pages.metadata_bytes -= block->made * bytes_of(block->class);
		block->made = 0;
	}
	block->returning = false;
	list_add(block);
}

/* Return the memory of the next block, with no lock held and with signals blocked, as free_slabs.c
 * does it. false: the arena has no further block. */
static bool return_next(struct walk *walk)
{
	uint64_t mask = signals_block();
	struct block *block;
	bool done;

	segment_lock();
	block = take_ripe(walk);
	segment_unlock();
	if (block) {
		done = os_discard(block_start(block), units_of(block->class) * BLOCK_BYTES);
		segment_lock();
		list_again(block, done);
		segment_unlock();
	}
	signals_restore(mask);
	return block;
}

void metadata_decay(uint32_t epoch, bool all)
{
	for (unsigned node = 0; node < topology_nodes(); node++) {
		struct walk walk = {.epoch = epoch, .all = all};

		segment_lock();
		walk.arena = metadata_arenas[node];
		segment_unlock();
		/* Each arena by itself: the lock is held for a short time, however many there are. */
		for (; walk.arena; walk.arena = walk.arena->next, walk.i = 0)
			while (return_next(&walk))
				;
	}
}

/* libslab may not have started, so the number of nodes may be unknown. */
void metadata_after_fork_child(void)
{
	for (unsigned node = 0; node < SLAB_STATS_MAX_NODES; node++)
		for (struct arena *arena = metadata_arenas[node]; arena; arena = arena->next)
			for (unsigned i = 0; i < BLOCKS; i++)
				if (arena->block[i].returning)
					list_again(&arena->block[i], false);
}
