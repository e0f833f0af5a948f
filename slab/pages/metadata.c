/* SPDX-License-Identifier: MIT */
/*
 * The memory of descriptors: arenas, and the blocks in them.
 *
 * An arena is a mapping of its own behind a guard page, so an object that overflows does not reach
 * descriptors. An arena consists of blocks; all descriptors of a block have one class:
 *
 *   guard | struct arena | block | block | …
 *   block: descriptor with its bits and struct slab_debug | descriptor … | …
 *
 * The memory of a block is never used for another class, and never unmapped: what a stale pointer
 * to a descriptor leads to is a descriptor, or zeros. Memory for the rooms above
 * (metadata_block_take()) has classes of its own.
 *
 * A block of which no descriptor is in use returns its memory to the OS after a decay time. The
 * thread that does so takes the block off its list and holds no lock meanwhile.
 */
#include <errno.h>
#include <slab/stats.h>
#include <string.h>

#include "pages/metadata.h"
#include "base/compiler.h"
#include "base/range.h"
#include "base/round.h"
#include "base/signals.h"
#include "pages/account.h"
#include "pages/free_slabs.h"
#include "pages/idle.h"
#include "pages/os.h"
#include "pages/topology.h"
#include "pages/units.h"

#define ARENA_BYTES ((size_t)METADATA_ARENA_BYTES)
#define BLOCK_BYTES ((size_t)1 << 16)
/* One before the blocks has the guard, another one struct arena. */
#define BLOCKS_BEFORE 2u
#define BLOCKS ((unsigned)(ARENA_BYTES / BLOCK_BYTES) - BLOCKS_BEFORE)

/* The bytes of classes: multiples of EXACT_STEP up to EXACT_MAX, from there on STEPS up to the next
 * power of two. */
#define EXACT_STEP 64u
#define EXACT_MAX_SHIFT 10u
#define EXACT_MAX (1u << EXACT_MAX_SHIFT)
#define LEAST_BYTES 128u
#define EXACT ((EXACT_MAX - LEAST_BYTES) / EXACT_STEP + 1)
#define STEPS 8u
/* The largest descriptor that an arena has room for. */
#define CLASSES 110u
/* Classes of blocks for other rooms follow those of descriptors. */
#define RAW_CLASSES 55u
#define LISTS (CLASSES + RAW_CLASSES)

#define PER_BLOCK_MAX (BLOCK_BYTES / LEAST_BYTES)

/* A list of a class and node: blocks with free descriptors. */
struct block_list {
	struct block *first, *last;
};

/* `returning` belongs to the thread that returns the block's memory; the block is on no list. */
struct block {
	struct block *next, *prev;
	uint64_t free[PER_BLOCK_MAX / 64]; /* a bit for each descriptor */
	uint16_t count, free_count, made; /* made: descriptors that may hold memory */
	uint8_t class, node;
	bool used; /* it has a class */
	bool returning;
	uint32_t idle_since; /* epoch since which all descriptors are free */
};

struct arena {
	struct arena *next; /* older */
	uint64_t mapped; /* bytes: all of ARENA_BYTES, or less where space is short */
	unsigned used; /* blocks that belong to a class */
	struct block_list list[LISTS]; /* of the node, in its first arena */
	struct block block[BLOCKS];
};

_Static_assert(offsetof(struct arena, next) == 0, "readers follow the list");
_Static_assert(sizeof(struct arena) <= BLOCK_BYTES, "one block before the others has it");
_Static_assert(sizeof(struct slab) <= LEAST_BYTES && LISTS <= METADATA_NONE, "classes have names");

/* By class, in the node's first arena; NULL: the node has no arena yet. */
static SLAB_EARLY struct block_list *lists[SLAB_STATS_MAX_NODES];
SLAB_EARLY struct arena *metadata_arenas[SLAB_STATS_MAX_NODES]; /* only the newest has room */

/* --- classes -------------------------------------------------------------------------- */

/* The bytes of a descriptor with all that belongs to it. */
static size_t bytes_of(unsigned class)
{
	unsigned above;
	size_t power;

	if (class >= CLASSES)
		class -= CLASSES;
	if (class < EXACT)
		return LEAST_BYTES + class * EXACT_STEP;
	above = class - EXACT;
	power = (size_t)EXACT_MAX << above / STEPS;
	return power + (above % STEPS + 1) * (power / STEPS);
}

unsigned metadata_class(size_t bytes)
{
	unsigned shift;
	size_t steps;

	if (bytes <= LEAST_BYTES)
		return 0;
	if (bytes <= EXACT_MAX)
		return (unsigned)((bytes - LEAST_BYTES + EXACT_STEP - 1) / EXACT_STEP);
	if (bytes > bytes_of(CLASSES - 1))
		return METADATA_NONE;
	shift = 63 - (unsigned)__builtin_clzll(bytes - 1);
	steps = (bytes - 1 - ((size_t)1 << shift)) / (((size_t)1 << shift) / STEPS);
	return EXACT + (shift - EXACT_MAX_SHIFT) * STEPS + (unsigned)steps;
}

/* A block has one descriptor if it is larger than BLOCK_BYTES. */
static unsigned count_of(unsigned class)
{
	size_t n = BLOCK_BYTES / bytes_of(class);

	return n < 1 ? 1 : (unsigned)n;
}

/* The number of BLOCK_BYTES that a block of this class takes. */
static unsigned units_of(unsigned class)
{
	return (unsigned)(round_up(count_of(class) * bytes_of(class), BLOCK_BYTES) / BLOCK_BYTES);
}

/* --- blocks --------------------------------------------------------------------------- */

static struct arena *arena_of(const void *ptr)
{
	return (struct arena *)(((uintptr_t)ptr & ~(ARENA_BYTES - 1)) + SEGMENT_HEAD_OFFSET);
}

/* The block that contains a descriptor, which starts in the first BLOCK_BYTES. */
static struct block *block_of(const void *descriptor)
{
	size_t at = (uintptr_t)descriptor & (ARENA_BYTES - 1);

	return &arena_of(descriptor)->block[at / BLOCK_BYTES - BLOCKS_BEFORE];
}

static char *block_start(const struct block *block)
{
	struct arena *arena = arena_of(block);
	size_t i = (size_t)(block - arena->block);

	return (char *)((uintptr_t)arena & ~(ARENA_BYTES - 1)) + (i + BLOCKS_BEFORE) * BLOCK_BYTES;
}

/* The node has an arena. */
static struct block_list *list_of(unsigned class, unsigned node)
{
	return &lists[node][class];
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

/* The bytes that an arena needs for one more block of this class. */
static size_t bytes_for(const struct arena *arena, unsigned class)
{
	return bytes_with(arena->used + units_of(class));
}

/* Has the newest arena of the node room for it? */
static bool has_room(unsigned class, unsigned node)
{
	const struct arena *arena = metadata_arenas[node];

	return arena && bytes_for(arena, class) <= arena->mapped;
}

/* Make a block; NULL: the arena has no room. */
static struct block *make_block(unsigned class, unsigned node)
{
	struct arena *arena = metadata_arenas[node];
	struct block *block;
	unsigned n = count_of(class);

	if (!has_room(class, node))
		return NULL;
	block = &arena->block[arena->used];
	arena->used += units_of(class);
	*block = (struct block){.class = (uint8_t)class, .node = (uint8_t)node, .used = true};
	block->count = block->free_count = (uint16_t)n;
	for (unsigned i = 0; i < n; i++)
		block->free[i / 64] |= UINT64_C(1) << i % 64;
	list_add(block);
	return block;
}

/* Take the free descriptor with the lowest number of a block; returns its number. */
static unsigned take_lowest(struct block *block)
{
	unsigned word = 0, i;

	while (!block->free[word])
		word++;
	i = word * 64 + (unsigned)__builtin_ctzll(block->free[word]);
	block->free[word] &= block->free[word] - 1;
	if (--block->free_count == 0)
		list_remove(block);
	if (i >= block->made) {
		metadata_count((i + 1u - block->made) * bytes_of(block->class));
		block->made = (uint16_t)(i + 1);
	}
	return i;
}

bool metadata_has(unsigned class, unsigned node)
{
	return lists[node] && (list_of(class, node)->first || has_room(class, node));
}

static void *take(unsigned class, unsigned node)
{
	struct block *block = lists[node] ? list_of(class, node)->first : NULL;

	if (!block)
		block = make_block(class, node);
	return block ? block_start(block) + take_lowest(block) * bytes_of(class) : NULL;
}

/* Threads may read a descriptor through stale pointers, so it is written in whole words. */
static void clear(struct slab *slab, size_t bytes)
{
	typedef uint64_t __attribute__((may_alias)) word;
	word *at = (word *)slab;

	for (size_t i = 0; i < bytes / sizeof(word); i++)
		__atomic_store_n(&at[i], 0, __ATOMIC_RELAXED);
}

struct slab *metadata_begin(struct slab *slab, unsigned class, unsigned node, size_t clear_bytes)
{
	if (!slab)
		return NULL;
	clear(slab, clear_bytes);
	slab->size_class = (uint8_t)class;
	__atomic_store_n(&slab->node, (uint8_t)node, __ATOMIC_RELAXED);
	return slab;
}

struct slab *metadata_take(unsigned class, unsigned node, size_t clear_bytes)
{
	return metadata_begin(take(class, node), class, node, clear_bytes);
}

void metadata_put(void *descriptor, uint32_t idle_since)
{
	struct block *block = block_of(descriptor);
	size_t i = (size_t)((char *)descriptor - block_start(block)) / bytes_of(block->class);

	block->free[i / 64] |= UINT64_C(1) << i % 64;
	if (block->free_count++ == 0)
		list_add(block);
	if (block->free_count == block->count)
		block->idle_since = idle_since;
}

/* --- blocks for other rooms ------------------------------------------------------------ */

void *metadata_block_take(size_t bytes)
{
	const unsigned class = CLASSES + metadata_class(bytes);
	void *memory;

	do {
		segment_lock();
		memory = take(class, 0);
		segment_unlock();
	} while (!memory && metadata_map(class, 0));
	return memory;
}

void metadata_block_put(void *memory)
{
	segment_lock();
	metadata_put(memory, decay_epoch() + 1);
	segment_unlock();
}

/* --- arenas --------------------------------------------------------------------------- */

/* Under the lock. true: the arena is not needed because another thread was faster. */
static bool publish(struct arena *arena, unsigned class, unsigned node)
{
	if (metadata_has(class, node))
		return true;
	arena->next = metadata_arenas[node];
	if (!lists[node])
		lists[node] = arena->list;
	metadata_arenas[node] = arena;
	metadata_count(sizeof(*arena));
	return false;
}

/* Where space is short: map a block behind those of the newest arena. */
static bool grow(unsigned class, unsigned node)
{
	struct arena *arena;
	bool done = false;

	segment_lock();
	arena = metadata_arenas[node];
	if (arena && bytes_for(arena, class) <= ARENA_BYTES) {
		const size_t need = bytes_for(arena, class), has = arena->mapped;
		char *start = (char *)arena - SEGMENT_HEAD_OFFSET;

		done = need <= has || os_map_at(start + has, need - has);
		if (need > has && done)
			arena->mapped = need;
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

bool metadata_map(unsigned class, unsigned node)
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
	return block->used && !block->returning && block->made &&
	       block->free_count == block->count &&
	       (walk->all || decay_is_ripe(block->idle_since, walk->epoch));
}

/* Under the lock: take the next ripe block of this arena off its list. NULL: it has none. */
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
		metadata_count(-(uint64_t)(block->made * bytes_of(block->class)));
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

	segment_lock();
	block = take_ripe(walk);
	segment_unlock();
	if (block) {
		const size_t bytes = units_of(block->class) * BLOCK_BYTES;
		const bool done = os_discard(block_start(block), bytes);

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
		for (; walk.arena; walk.arena = walk.arena->next, walk.i = 0)
			while (return_next(&walk))
				;
	}
}

bool metadata_has_range(const char *start, size_t bytes)
{
	for (unsigned node = 0; node < topology_nodes(); node++)
		for (const struct arena *arena = metadata_arenas[node]; arena; arena = arena->next)
			if (range_has(arena, arena->mapped - SEGMENT_HEAD_OFFSET, start, bytes))
				return true;
	return false;
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
