/* SPDX-License-Identifier: MIT */
/*
 * Segments: the address space of slabs.
 *
 * A segment is SEGMENT_SIZE bytes of address space, aligned to its size and never unmapped:
 *
 *   guard | head | table | guard | units …
 *
 * A mask turns any address in a segment into the address of its head, and the table leads from
 * there to the descriptor of the address's slab. Head and table lie between guard pages, where an
 * overflowing object does not reach them. The first guard is as large as the largest page size, so
 * the head has the same offset in every segment; the second guard has at least one page. To the
 * kernel a segment is four mappings.
 *
 * Slabs of all sizes and geometries share segments. A slab is an aligned range of units. Units
 * that no slab has hold no memory: a slab returns its memory before its units are free. So free
 * units need no record but a bit, and any slab may get them.
 *
 * pages_lock protects the segments and what the rest of the page layer has, for a few instructions
 * at a time. A thread maps a segment without the lock, before other threads know the segment. If
 * two threads do this at once, the second one unmaps its segment again. A fork may leave the child
 * a mapping that is never used.
 */
#include <errno.h>
#include <pthread.h>
#include <slab/stats.h>
#include <string.h>

#include "pages/segment.h"
#include "base/compiler.h"
#include "base/round.h"
#include "pages/account.h"
#include "pages/os.h"
#include "pages/topology.h"

/* Free ranges have 1, 2, 4 … units, at most as many as the largest slab. */
#define ORDERS (LARGE_SHIFT_MAX - SEGMENT_UNIT_SHIFT + 1)
#define WORD_ORDERS 7 /* of ranges within a word of segment->free */

_Static_assert(ORDERS == WORD_ORDERS + 1, "the largest slab has two words");

static SLAB_EARLY pthread_mutex_t pages_lock = PTHREAD_MUTEX_INITIALIZER;
/* Segments with free units, by the order of their largest free range. */
static SLAB_EARLY struct segment *with_room[SLAB_STATS_MAX_NODES][ORDERS];

/* The slab of addresses without a slab: it has no owner and no cache. */
struct slab slab_none = {
	.cpu = {.owner = CPU_NONE, .size8 = 1, .reciprocal = UINT64_C(1) << 32},
	.remote = REMOTE_OWNED,
};

void segment_lock(void)
{
	pthread_mutex_lock(&pages_lock);
}

void segment_unlock(void)
{
	pthread_mutex_unlock(&pages_lock);
}

struct segment *segment_first(void)
{
	return __atomic_load_n(&slab_pages.segments, __ATOMIC_ACQUIRE);
}

/* --- the units of a segment ----------------------------------------------------------- */

/* The bits of `n` units from `first` on that one word has; n is a power of two. */
static uint64_t bits_of(unsigned first, unsigned n)
{
	return n >= 64 ? ~UINT64_C(0) : ((UINT64_C(1) << n) - 1) << first % 64;
}

static bool are_free(const struct segment *segment, unsigned first, unsigned n)
{
	const uint64_t bits = bits_of(first, n);

	for (unsigned word = first / 64; word * 64 < first + n; word++)
		if ((segment->free[word] & bits) != bits)
			return false;
	return true;
}

static void set_free(struct segment *segment, unsigned first, unsigned n, bool is_free)
{
	const uint64_t bits = bits_of(first, n);

	for (unsigned word = first / 64; word * 64 < first + n; word++)
		segment->free[word] =
			is_free ? segment->free[word] | bits : segment->free[word] & ~bits;
}

/* The number of orders of which the units of one word have a free range. */
static unsigned orders_in(uint64_t free)
{
	/* a bit for each place at which a range of the next order may start */
	static const uint64_t starts[WORD_ORDERS - 1] = {
		UINT64_C(0x5555555555555555), UINT64_C(0x1111111111111111),
		UINT64_C(0x0101010101010101), UINT64_C(0x0001000100010001),
		UINT64_C(0x0000000100000001), UINT64_C(0x0000000000000001),
	};
	unsigned order = 0;

	for (; free && order < WORD_ORDERS - 1; order++)
		free &= free >> (1u << order) & starts[order];
	return order + (free != 0);
}

static void add_room(struct segment *segment)
{
	struct segment **first = &with_room[segment->node][segment->orders - 1];

	segment->prev_room = NULL;
	segment->next_room = *first;
	if (*first)
		(*first)->prev_room = segment;
	*first = segment;
}

static void remove_room(struct segment *segment)
{
	if (segment->prev_room)
		segment->prev_room->next_room = segment->next_room;
	else
		with_room[segment->node][segment->orders - 1] = segment->next_room;
	if (segment->next_room)
		segment->next_room->prev_room = segment->prev_room;
}

/* The number of orders of which one word of the segment has a free range. The largest slab has two
 * words, so its order counts if this word and its neighbour are free. */
static unsigned orders_at(const struct segment *segment, unsigned word)
{
	const bool whole = !~segment->free[word];

	return whole ? WORD_ORDERS + !~segment->free[word ^ 1] : orders_in(segment->free[word]);
}

/* The number of orders of which the segment has a free range; the caller knows that there are no
 * more than `most`. */
static unsigned orders_of(const struct segment *segment, unsigned most)
{
	unsigned orders = 0;

	for (unsigned word = 0; word < SEGMENT_UNITS / 64 && orders < most; word++) {
		unsigned in_word = orders_at(segment, word);

		orders = in_word > orders ? in_word : orders;
	}
	return orders;
}

/* Move the segment to the list of its largest free range. */
static void list_room(struct segment *segment, unsigned orders)
{
	if (orders == segment->orders)
		return;
	if (segment->orders)
		remove_room(segment);
	segment->orders = orders;
	if (orders)
		add_room(segment);
}

/* The lowest aligned range of `n` free units; the segment has one. */
static unsigned find_in(const struct segment *segment, unsigned n)
{
	unsigned first = 0;

	while (!are_free(segment, first, n))
		first += n < 64 && !segment->free[first / 64] ? 64 - first % 64 : n;
	return first;
}

/* A segment with such a range. Larger ranges stay whole as long as possible. */
static struct segment *find(unsigned shift, unsigned node)
{
	struct segment *segment = NULL;

	for (unsigned i = shift - SEGMENT_UNIT_SHIFT; i < ORDERS && !segment; i++)
		segment = with_room[node][i];
	return segment;
}

static unsigned units_of(unsigned shift)
{
	return 1u << (shift - SEGMENT_UNIT_SHIFT);
}

bool segment_has_range(unsigned shift, unsigned node)
{
	return find(shift, node);
}

char *segment_take_range(unsigned shift, unsigned node)
{
	struct segment *segment = find(shift, node);
	unsigned first;

	if (!segment)
		return NULL;
	first = find_in(segment, units_of(shift));
	set_free(segment, first, units_of(shift), false);
	list_room(segment, orders_of(segment, segment->orders));
	return segment_start(segment) + ((size_t)first << SEGMENT_UNIT_SHIFT);
}

void segment_put_range(char *start, unsigned shift)
{
	struct segment *segment = segment_of(start);
	unsigned first = (unsigned)((start - segment_start(start)) >> SEGMENT_UNIT_SHIFT), orders;

	set_free(segment, first, units_of(shift), true);
	orders = orders_at(segment, first / 64);
	list_room(segment, orders > segment->orders ? orders : segment->orders);
}

void segment_lead_to(const struct slab *slab, struct slab *descriptor)
{
	const size_t at = (size_t)(slab->cpu.base - segment_start(slab->cpu.base));
	struct slab **table = segment_table(segment_of(slab->cpu.base));
	const unsigned first = (unsigned)(at >> SEGMENT_UNIT_SHIFT);

	for (unsigned u = first; u < first + units_of(slab->shift); u++)
		__atomic_store_n(&table[u], descriptor, __ATOMIC_RELEASE);
}

/* --- mapping -------------------------------------------------------------------------- */

/* Offset of the first unit of slabs: behind the second guard. */
static size_t units_offset(void)
{
	return round_up(os_pages(SEGMENT_HEAD_END) + os_page_size(), (size_t)1 << SLAB_SHIFT_MIN);
}

/* Fill in the head of a fresh segment. */
static void format(struct segment *segment, unsigned node)
{
	const unsigned first = (unsigned)(units_offset() >> SEGMENT_UNIT_SHIFT);

	segment->magic = SEGMENT_MAGIC;
	segment->mapped = SEGMENT_SIZE;
	segment->node = node;
	for (unsigned u = 0; u < SEGMENT_UNITS; u++)
		segment_table(segment)[u] = &slab_none;
	memset(segment->free, 0xff, sizeof(segment->free));
	for (unsigned u = 0; u < first; u++)
		set_free(segment, u, 1, false);
}

/* Map a segment that no other thread knows; NULL and ENOMEM. */
static struct segment *map_segment(unsigned node)
{
	char *start = os_map(SEGMENT_SIZE, SEGMENT_SIZE);
	size_t head_end = os_pages(SEGMENT_HEAD_END);
	struct segment *segment = (struct segment *)(start + SEGMENT_HEAD_OFFSET);

	if (!start)
		return NULL;
	if (topology_is_real() && topology_nodes() > 1)
		os_bind(start, SEGMENT_SIZE, node);
	/* The guard in front of the head is necessary too: another segment may end where this one
	 * starts. */
	if (os_protect(start, SEGMENT_HEAD_OFFSET, false) &&
	    os_protect(start + head_end, units_offset() - head_end, false)) {
		format(segment, node);
		return segment;
	}
	os_unmap(start, SEGMENT_SIZE);
	errno = ENOMEM;
	return NULL;
}

/* With the lock. Returns NULL, or the segment if it is not needed because another thread was
 * faster. */
static struct segment *publish(struct segment *segment, unsigned shift)
{
	if (segment_has_range(shift, segment->node))
		return segment;
	segment->next = slab_pages.segments;
	__atomic_store_n(&slab_pages.segments, segment, __ATOMIC_RELEASE);
	slab_pages.segment_count++;
	slab_pages.metadata_bytes += SEGMENT_HEAD_END - SEGMENT_HEAD_OFFSET;
	segment_mark_slabs(segment_start(segment));
	list_room(segment, orders_of(segment, ORDERS));
	return NULL;
}

bool segment_map(unsigned shift, unsigned node)
{
	struct segment *segment = map_segment(node);

	if (!segment)
		return false;
	segment_lock();
	segment = publish(segment, shift);
	segment_unlock();
	if (segment)
		os_unmap(segment_start(segment), SEGMENT_SIZE);
	return true;
}
