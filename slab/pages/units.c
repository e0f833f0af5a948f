/* SPDX-License-Identifier: MIT */
/*
 * The units of segments.
 *
 * Two maps of a segment have a bit for each unit: it is free; it is free and holds memory. A slab
 * takes an aligned range of them, so neighbours that are free are one range without more ado,
 * whatever slabs they were.
 *
 * A search does not scan segments: for each pool and map, segments are on lists by the size of
 * their largest range. A search takes the first segment of the first list whose ranges are large
 * enough, so larger ranges stay whole as long as possible, and the lowest range in it.
 */
#include "pages/units.h"
#include "base/compiler.h"
#include "pages/account.h"
#include "pages/idle.h"

#define WORDS (SEGMENT_UNITS / 64)
#define WORD_ORDERS 7u /* of ranges within a word of a map */
/* The segments that units_find_begun() looks at. */
#define BEGUN_TRIES 8u

/* Most processes have only pool 0. */
static SLAB_EARLY struct segment *lists_of_pool0[UNITS_MAPS][UNITS_ORDERS];
static struct segment *lists[POOLS][UNITS_MAPS][UNITS_ORDERS];

static SLAB_EARLY unsigned busy_units;

/* The slab of addresses without a slab. */
struct slab slab_none;

struct segment *segment_first(void)
{
	return __atomic_load_n(&slab_pages.segments, __ATOMIC_ACQUIRE);
}

/* --- maps --------------------------------------------------------------------------------- */

static uint64_t *map_of(struct segment *segment, unsigned map)
{
	return map == UNITS_FREE ? segment->free : segment->resident;
}

/* The bits of units first to first + n - 1 that a word has. */
static uint64_t bits_in(unsigned word, unsigned first, unsigned n)
{
	const unsigned low = first > word * 64 ? first - word * 64 : 0;
	const unsigned end = first + n < word * 64 + 64 ? first + n - word * 64 : 64;
	const uint64_t below = end == 64 ? ~UINT64_C(0) : (UINT64_C(1) << end) - 1;

	return below & ~UINT64_C(0) << low;
}

static bool are_set(const uint64_t *map, unsigned first, unsigned n)
{
	for (unsigned word = first / 64; word * 64 < first + n; word++)
		if (~map[word] & bits_in(word, first, n))
			return false;
	return true;
}

static unsigned count_set(const uint64_t *map, unsigned first, unsigned n)
{
	unsigned count = 0;

	for (unsigned word = first / 64; word * 64 < first + n; word++)
		count += (unsigned)__builtin_popcountll(map[word] & bits_in(word, first, n));
	return count;
}

static void set(uint64_t *map, unsigned first, unsigned n)
{
	for (unsigned word = first / 64; word * 64 < first + n; word++)
		map[word] |= bits_in(word, first, n);
}

static void clear(uint64_t *map, unsigned first, unsigned n)
{
	for (unsigned word = first / 64; word * 64 < first + n; word++)
		map[word] &= ~bits_in(word, first, n);
}

/* --- ranges ------------------------------------------------------------------------------- */

/* A bit for each place in a word at which a range of the order after this one may start. */
static const uint64_t starts[WORD_ORDERS - 1] = {
	UINT64_C(0x5555555555555555), UINT64_C(0x1111111111111111), UINT64_C(0x0101010101010101),
	UINT64_C(0x0001000100010001), UINT64_C(0x0000000100000001), UINT64_C(0x0000000000000001),
};

/* The number of orders of which the units of one word have a range. */
static unsigned orders_in(uint64_t bits)
{
	unsigned order = 0;

	for (; bits && order < WORD_ORDERS - 1; order++)
		bits &= bits >> (1u << order) & starts[order];
	return order + (bits != 0);
}

/* The number of orders of which the map has a range in this word or around it: larger ranges are
 * aligned groups of whole words. */
static unsigned orders_at(const uint64_t *map, unsigned word)
{
	unsigned orders = orders_in(map[word]);

	if (~map[word])
		return orders;
	for (unsigned n = 2; orders < UNITS_ORDERS; n *= 2, orders++)
		if (!are_set(map, (word & ~(n - 1)) * 64, n * 64))
			break;
	return orders;
}

/* The number of orders of which the map has a range; there are no more than `most`. */
static unsigned orders_of(const uint64_t *map, unsigned most)
{
	unsigned orders = 0;

	for (unsigned word = 0; word < WORDS && orders < most; word++) {
		unsigned at = orders_at(map, word);

		orders = at > orders ? at : orders;
	}
	return orders;
}

/* A bit for each place in a word at which a range of this order starts, at most a word. */
static uint64_t places_in(uint64_t bits, unsigned order)
{
	for (unsigned i = 0; i < order && bits; i++)
		bits &= bits >> (1u << i) & starts[i];
	return bits;
}

/* The first unit of the lowest range of this order; the map has one. */
static unsigned lowest(const uint64_t *map, unsigned order)
{
	unsigned first = 0;

	for (unsigned word = 0; order < WORD_ORDERS && word < WORDS; word++) {
		const uint64_t bits = places_in(map[word], order);

		if (bits)
			return word * 64 + (unsigned)__builtin_ctzll(bits);
	}
	while (!are_set(map, first, 1u << order))
		first += 1u << order;
	return first;
}

/* --- lists -------------------------------------------------------------------------------- */

/* The list of segments whose largest range has 1 << order units. */
static struct segment **list_of(unsigned pool, unsigned map, unsigned order)
{
	return pool ? &lists[pool][map][order] : &lists_of_pool0[map][order];
}

static void list_add(struct segment *segment, unsigned map)
{
	struct segment_room *room = &segment->room[map];
	struct segment **first = list_of(segment->pool, map, room->orders - 1);

	room->prev = NULL;
	room->next = *first;
	if (*first)
		(*first)->room[map].prev = segment;
	*first = segment;
}

static void list_remove(struct segment *segment, unsigned map)
{
	struct segment_room *room = &segment->room[map];

	if (room->prev)
		room->prev->room[map].next = room->next;
	else
		*list_of(segment->pool, map, room->orders - 1) = room->next;
	if (room->next)
		room->next->room[map].prev = room->prev;
}

static void list_as(struct segment *segment, unsigned map, unsigned orders)
{
	struct segment_room *room = &segment->room[map];

	if (orders == room->orders)
		return;
	if (room->orders)
		list_remove(segment, map);
	/* segment_decay() reads it without the lock. */
	__atomic_store_n(&room->orders, orders, __ATOMIC_RELAXED);
	if (orders)
		list_add(segment, map);
}

/* Bits of a map were cleared. */
static void list_lower(struct segment *segment, unsigned map)
{
	list_as(segment, map, orders_of(map_of(segment, map), segment->room[map].orders));
}

/* Bits of these units were set. */
static void list_higher(const struct units *units, unsigned map)
{
	unsigned orders = units->segment->room[map].orders;

	for (unsigned word = units->first / 64; word * 64 < units->first + units->n; word++) {
		const unsigned at = orders_at(map_of(units->segment, map), word);

		orders = at > orders ? at : orders;
	}
	list_as(units->segment, map, orders);
}

/* --- finding ------------------------------------------------------------------------------ */

struct units units_at(const void *start, unsigned shift)
{
	return (struct units){
		.segment = segment_of(start),
		.first = (unsigned)((uintptr_t)start >> SEGMENT_UNIT_SHIFT & (SEGMENT_UNITS - 1)),
		.n = 1u << (shift - SEGMENT_UNIT_SHIFT),
	};
}

/* A segment with a range of this order; NULL: there is none. */
static struct segment *find_segment(unsigned order, unsigned pool, unsigned map)
{
	struct segment *segment = NULL;

	for (; order < UNITS_ORDERS && !segment; order++)
		segment = *list_of(pool, map, order);
	return segment;
}

bool segment_has_range(unsigned shift, unsigned pool)
{
	return find_segment(shift - SEGMENT_UNIT_SHIFT, pool, UNITS_FREE);
}

bool units_find(unsigned shift, unsigned pool, unsigned map, struct units *ret)
{
	const unsigned order = shift - SEGMENT_UNIT_SHIFT;
	struct segment *segment = find_segment(order, pool, map);

	if (segment)
		*ret = (struct units){
			.segment = segment,
			.first = lowest(map_of(segment, map), order),
			.n = 1u << order,
		};
	return segment;
}

/* The first unit of a free range of which the first half is resident; SEGMENT_UNITS: there is
 * none. */
static unsigned begun_in(const struct segment *segment, unsigned order)
{
	const unsigned n = 1u << order;

	for (unsigned word = 0; order < WORD_ORDERS && word < WORDS; word++) {
		const uint64_t bits = places_in(segment->resident[word], order - 1) &
				      places_in(segment->free[word], order);

		if (bits)
			return word * 64 + (unsigned)__builtin_ctzll(bits);
	}
	for (unsigned first = 0; order >= WORD_ORDERS && first < SEGMENT_UNITS; first += n)
		if (are_set(segment->resident, first, n / 2) && are_set(segment->free, first, n))
			return first;
	return SEGMENT_UNITS;
}

/* Larger resident ranges do not exist: units_find() would have found them. */
bool units_find_begun(unsigned shift, unsigned pool, struct units *ret)
{
	const unsigned order = shift - SEGMENT_UNIT_SHIFT;
	struct segment *segment = order ? *list_of(pool, UNITS_RESIDENT, order - 1) : NULL;

	for (unsigned i = 0; i < BEGUN_TRIES && segment; i++) {
		const unsigned first = begun_in(segment, order);

		if (first < SEGMENT_UNITS) {
			*ret = (struct units){.segment = segment, .first = first, .n = 1u << order};
			return true;
		}
		segment = segment->room[UNITS_RESIDENT].next;
	}
	return false;
}

unsigned units_resident(const struct units *units)
{
	return count_set(units->segment->resident, units->first, units->n);
}

unsigned units_leading(const struct units *units)
{
	unsigned n = 0;

	while (n < units->n && are_set(units->segment->resident, units->first + n, 1))
		n++;
	return n;
}

/* --- taking and putting ------------------------------------------------------------------- */

/* With the lock of segments; other threads read the sum without it. */
static void add_free_bytes(uint64_t bytes)
{
	__atomic_store_n(&slab_pages.free_slab_bytes, slab_pages.free_slab_bytes + bytes,
			 __ATOMIC_RELAXED);
}

void units_take(const struct units *units)
{
	struct segment *segment = units->segment;

	add_free_bytes(-(uint64_t)(units_resident(units) * UNIT_BYTES));
	clear(segment->free, units->first, units->n);
	clear(segment->resident, units->first, units->n);
	for (unsigned map = 0; map < UNITS_MAPS; map++)
		list_lower(segment, map);
}

void units_put(const struct units *units, unsigned resident, uint32_t since)
{
	struct segment *segment = units->segment;

	add_free_bytes(resident * UNIT_BYTES);
	set(segment->free, units->first, units->n);
	set(segment->resident, units->first, resident);
	for (unsigned i = 0; i < resident; i++)
		segment->since[units->first + i] = (uint16_t)since;
	for (unsigned map = 0; map < UNITS_MAPS; map++)
		list_higher(units, map);
}

void units_begin_busy(const struct units *units)
{
	units_take(units);
	set(units->segment->busy, units->first, units->n);
	busy_units += units->n;
}

void units_end_busy(const struct units *units, unsigned resident, uint32_t since)
{
	clear(units->segment->busy, units->first, units->n);
	busy_units -= units->n;
	units_put(units, resident, since);
}

/* The threads that made them busy do not exist in the child. What memory they hold is unknown. */
void units_after_fork_child(void)
{
	for (struct segment *s = segment_first(); s && busy_units; s = s->next)
		for (unsigned u = 0; u < SEGMENT_UNITS; u++) {
			const struct units unit = {.segment = s, .first = u, .n = 1};

			if (are_set(s->busy, u, 1))
				units_end_busy(&unit, 1, decay_epoch() + 1);
		}
}

/* --- the tables --------------------------------------------------------------------------- */

void units_lead_to(const struct units *units, struct slab *descriptor)
{
	struct slab **table = segment_table(units->segment) + units->first;

	for (unsigned i = 0; i < units->n; i++)
		__atomic_store_n(&table[i], descriptor, __ATOMIC_RELEASE);
}

void segment_set_user(struct slab *slab, const void *user)
{
	uintptr_t *words = segment_user_word(slab->base);

	__atomic_store_n(&slab->user, user, __ATOMIC_RELEASE);
	for (unsigned n = 1u << (slab->shift - SEGMENT_UNIT_SHIFT); n > 0; n--)
		__atomic_store_n(&words[n - 1], (uintptr_t)user, __ATOMIC_RELEASE);
}

bool segment_unit_is_free(const void *ptr)
{
	const struct units unit = units_at(ptr, SEGMENT_UNIT_SHIFT);
	bool is_free;

	segment_lock();
	is_free = are_set(unit.segment->free, unit.first, 1) ||
		  are_set(unit.segment->busy, unit.first, 1);
	segment_unlock();
	return is_free;
}
