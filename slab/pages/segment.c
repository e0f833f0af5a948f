/* SPDX-License-Identifier: MIT */
/*
 * Segments: the address space of slabs.
 *
 * A segment is SEGMENT_SIZE bytes of address space, aligned to its size. Its head, numbers and
 * table are never unmapped:
 *
 *   guard | head | numbers | table | guard | units …
 *
 * A mask turns any address in a segment into the address of its head, and the table leads from
 * there to the descriptor of the address's slab. The numbers are a byte for each unit
 * (segment_number()). All three lie between guard pages, where an overflowing object does not reach
 * them. The first guard is as large as the largest page size, so the head has the same offset in
 * every segment; the second guard has at least one page. To the kernel a segment is four mappings.
 *
 * Slabs of all sizes and geometries share segments. A slab is an aligned range of units. Units
 * that no slab has hold no memory: a slab returns its memory before its units are free. So free
 * units need no record but a bit, and any slab may get them.
 *
 * pages_lock protects the segments and what the rest of the page layer has, for a few instructions
 * at a time. A thread maps a segment without the lock, before other threads know the segment. If
 * two threads do this at once, the second one unmaps its segment again. A fork may leave the child
 * a mapping that is never used. Where space is short, a segment is mapped in parts, from its start.
 */
#include <errno.h>
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
#define PART_SHIFT_MIN 16u /* of the parts of segments */
#define WORD_ORDERS 7u /* of ranges within a word of segment->free */

/* Segments with free units, by the order of their largest free range. */
static SLAB_EARLY struct segment *with_room[SLAB_STATS_MAX_NODES][ORDERS];

/* The slab of addresses without a slab: it has no owner and no cache. */
struct slab slab_none = {
	.cpu = {.owner = CPU_NONE, .size8 = 1, .reciprocal = UINT64_C(1) << 32},
	.remote = REMOTE_OWNED,
};

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

/* The number of orders of which the segment has a free range in this word or around it: larger
 * ranges are aligned groups of whole words. */
static unsigned orders_at(const struct segment *segment, unsigned word)
{
	unsigned orders = orders_in(segment->free[word]);

	if (~segment->free[word])
		return orders;
	for (unsigned n = 2; orders < ORDERS; n *= 2, orders++)
		if (!are_free(segment, (word & ~(n - 1)) * 64, n * 64))
			break;
	return orders;
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

void segment_set_number(const struct slab *slab, unsigned number)
{
	char *start = segment_start(slab->cpu.base);
	const unsigned first = (unsigned)((slab->cpu.base - start) >> SEGMENT_UNIT_SHIFT);
	uint8_t *numbers = (uint8_t *)start + SEGMENT_NUMBERS_OFFSET;

	if (segment_number(slab->cpu.base) == number)
		return;
	/* The first unit last: if a fork interrupts this, the child sees that it is not done. */
	for (unsigned u = first + units_of(slab->shift); u > first; u--)
		__atomic_store_n(&numbers[u - 1], (uint8_t)number, __ATOMIC_RELEASE);
}

/* --- mapping -------------------------------------------------------------------------- */

/* Offset of the first unit of slabs: behind the second guard. */
static size_t units_offset(void)
{
	return round_up(os_pages(SEGMENT_HEAD_END) + os_page_size(), (size_t)1 << SLAB_SHIFT_MIN);
}

static void set_all_free(struct segment *segment)
{
	const unsigned end = (unsigned)(segment->mapped >> SEGMENT_UNIT_SHIFT);

	memset(segment->free, 0, sizeof(segment->free));
	for (unsigned u = (unsigned)(units_offset() >> SEGMENT_UNIT_SHIFT); u < end; u++)
		set_free(segment, u, 1, true);
}

/* Let the kernel prefer the node for a segment's pages. */
static void bind_to_node(char *start, size_t bytes, unsigned node)
{
	if (topology_is_real() && topology_nodes() > 1)
		os_bind(start, bytes, node);
}

/* Fill in the head of a fresh segment. */
static void format(struct segment *segment, size_t bytes, unsigned node)
{
	segment->magic = SEGMENT_MAGIC;
	segment->node = node;
	segment->mapped = bytes;
	for (unsigned u = 0; u < SEGMENT_UNITS; u++)
		segment_table(segment)[u] = &slab_none;
	set_all_free(segment);
}

/* Map a segment that no other thread knows, or its first bytes; NULL and ENOMEM. */
static struct segment *map_segment(size_t bytes, unsigned node)
{
	char *start = os_map(bytes, SEGMENT_SIZE);
	size_t head_end = os_pages(SEGMENT_HEAD_END);
	struct segment *segment = (struct segment *)(start + SEGMENT_HEAD_OFFSET);

	if (!start)
		return NULL;
	/* Before the first write, which may populate a huge page: the kernel prefers the node, and
	 * the guards keep the huge page from the head. The guard in front of the head is necessary
	 * too: another segment may end where this one starts. */
	bind_to_node(start, bytes, node);
	if (segment_marks_ready(start, bytes) && os_protect(start, SEGMENT_HEAD_OFFSET, false) &&
	    os_protect(start + head_end, units_offset() - head_end, false)) {
		format(segment, bytes, node);
		return segment;
	}
	os_unmap(start, bytes);
	errno = ENOMEM;
	return NULL;
}

/* A process with little space gets segments in parts: the newest segment grows while the addresses
 * behind it are free. NULL: it has been unmapped. */
static SLAB_EARLY struct segment *growing;

/* Where a segment ends that had `bytes` and gets a part with a range of 1 << shift bytes. */
static size_t end_of_part(size_t bytes, unsigned shift)
{
	const size_t range = (size_t)1 << (shift > PART_SHIFT_MIN ? shift : PART_SHIFT_MIN);

	return round_up(bytes, range) + range;
}

/* With the lock, which is held during a system call, in such processes alone. false: the segment
 * cannot grow. */
static bool grow(unsigned shift, unsigned node)
{
	struct segment *segment = growing;
	const size_t from = segment ? segment->mapped : 0, to = end_of_part(from, shift);
	char *part = segment_start(segment) + from;

	if (!segment || segment->node != node || to > SEGMENT_SIZE || !os_map_at(part, to - from))
		return false;
	bind_to_node(part, to - from, node);
	segment->mapped = to;
	for (size_t at = from; at < to; at += (size_t)1 << SEGMENT_UNIT_SHIFT)
		set_free(segment, (unsigned)(at >> SEGMENT_UNIT_SHIFT), 1, true);
	list_room(segment, orders_of(segment, ORDERS));
	return true;
}

/* With the lock. true: the segment is not needed because another thread was faster. */
static bool publish(struct segment *segment, unsigned shift)
{
	if (segment_has_range(shift, segment->node))
		return true;
	segment->next = slab_pages.segments;
	__atomic_store_n(&slab_pages.segments, segment, __ATOMIC_RELEASE);
	slab_pages.segment_count++;
	slab_pages.metadata_bytes += SEGMENT_HEAD_END - SEGMENT_HEAD_OFFSET;
	segment_mark_slabs(segment_start(segment));
	list_room(segment, orders_of(segment, ORDERS));
	if (segment->mapped < SEGMENT_SIZE)
		growing = segment;
	return false;
}

/* --- unmapping ------------------------------------------------------------------------- */

/* Segments without memory for units, by next_room. Their heads stay: threads read them without a
 * lock. Of other segments, `orders` is 0 or their list is with_room. */
static SLAB_EARLY struct segment *unmapped;

static char *units_of_segment(const struct segment *segment)
{
	return segment_start(segment) + units_offset();
}

static size_t units_bytes(const struct segment *segment)
{
	return segment->mapped - units_offset();
}

static unsigned free_units(const struct segment *segment)
{
	unsigned n = 0;

	for (unsigned word = 0; word < SEGMENT_UNITS / 64; word++)
		n += (unsigned)__builtin_popcountll(segment->free[word]);
	return n;
}

/* With the lock: take a segment whose units are all free; NULL: there is none. */
static struct segment *take_free_segment(void)
{
	for (struct segment *s = slab_pages.segments; s; s = s->next)
		if (free_units(s) == units_bytes(s) >> SEGMENT_UNIT_SHIFT) {
			if (s == growing)
				growing = NULL;
			memset(s->free, 0, sizeof(s->free));
			list_room(s, 0);
			return s;
		}
	return NULL;
}

/* With the lock. */
static void add_unmapped(struct segment *segment)
{
	segment->next_room = unmapped;
	unmapped = segment;
}

size_t segment_unmap_free(void)
{
	struct segment *segment;
	size_t bytes = 0;

	do {
		segment_lock();
		segment = take_free_segment();
		segment_unlock();
		if (!segment)
			break;
		os_unmap(units_of_segment(segment), units_bytes(segment));
		bytes += units_bytes(segment);
		segment_lock();
		add_unmapped(segment);
		segment_unlock();
	} while (true);
	return bytes;
}

/* With the lock: take an unmapped segment of a node; NULL: there is none. */
static struct segment *take_unmapped(unsigned node)
{
	struct segment **at = &unmapped, *segment;

	while (*at && (*at)->node != node)
		at = &(*at)->next_room;
	segment = *at;
	if (segment)
		*at = segment->next_room;
	return segment;
}

/* Map the units of an unmapped segment again. false: there is none or no memory, or another mapping
 * has its addresses by now; then the segment stays as it is for good. */
static bool map_again(unsigned node)
{
	struct segment *segment;
	bool done;

	segment_lock();
	segment = take_unmapped(node);
	segment_unlock();
	if (!segment)
		return false;
	done = os_map_at(units_of_segment(segment), units_bytes(segment));
	if (!done && errno == EEXIST)
		return false;
	if (done)
		bind_to_node(segment_start(segment), segment->mapped, segment->node);
	segment_lock();
	if (done) {
		set_all_free(segment);
		list_room(segment, orders_of(segment, ORDERS));
	} else {
		add_unmapped(segment);
	}
	segment_unlock();
	return done;
}

/* Let the newest segment grow, or map the first part of a new one. NULL: it has grown, or there is no
 * memory. */
static struct segment *map_part(unsigned shift, unsigned node, bool *ret_grown)
{
	segment_lock();
	*ret_grown = grow(shift, node);
	segment_unlock();
	return *ret_grown ? NULL : map_segment(end_of_part(units_offset(), shift), node);
}

void segment_trim_guard(void *start)
{
	const size_t most = SEGMENT_HEAD_OFFSET - os_page_size();

	if (most && cpu_space_is_short())
		os_unmap(start, most);
}

bool segment_map(unsigned shift, unsigned node)
{
	struct segment *segment;
	bool grown = false, unused;

	if (map_again(node))
		return true;
	segment = cpu_space_is_short() ? map_part(shift, node, &grown)
				       : map_segment(SEGMENT_SIZE, node);
	if (!segment)
		return grown;
	segment_lock();
	unused = publish(segment, shift);
	segment_unlock();
	if (unused)
		os_unmap(segment_start(segment), segment->mapped);
	else
		segment_trim_guard(segment_start(segment));
	return true;
}
