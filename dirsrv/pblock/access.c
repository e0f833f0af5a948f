/* SPDX-License-Identifier: MIT */
/*
 * Access to the split pblock: fast and slow paths of get and set.
 *
 * A get of a pointer or an int checks the number, and loads the table entry, the part's address
 * and the value. It computes the place of the part's address, in the pblock or in `rare`, without
 * a branch: servers often ask for functions that a plug-in does not have. A set does the same, and
 * checks that the part exists.
 *
 * Most of the cost is the call itself, then taken jumps; twenty instructions are cheap in
 * comparison. So all unusual cases are out of line, as tail calls: errors, other kinds, recording,
 * creating parts.
 *
 * A branch distinguishes wide and narrow values. A version without this branch, which stores both
 * ways and discards one result, was measured and is slower by a fifth.
 */
#include <stddef.h>
#include <string.h>

#include "split.h"

/* A parameter's place and kind. */
struct entry {
	uint8_t words; /* offset / 4 in the part; for parameters of the top, in the pblock */
	uint8_t index; /* of the part's address */
	int8_t rare; /* -1: the part's address is in `rare`; 0: in the pblock */
	uint8_t kind; /* enum pblock_kind, the width, and the preset */
};

#define WORD_SIZE 4u

/* Or-ed to the kind: how many bytes the fast paths copy. Other kinds have neither. */
#define WIDE 0x10 /* eight bytes */
#define NARROW 0x20 /* four */
#define IS_WIDE(kind) ((kind) == PBLOCK_POINTER || (kind) == PBLOCK_WORD)
#define IS_NARROW(kind) ((kind) == PBLOCK_INT || (kind) == PBLOCK_PRESET)
#define WIDTH(kind) (IS_WIDE(kind) * WIDE | IS_NARROW(kind) * NARROW)

/* The two highest bits are the preset of a narrow value: -1, 0 or 1. */
#define PRESET_SHIFT 6
#define PRESET_BITS(preset) (((unsigned)(preset) & 3) << PRESET_SHIFT)

#define IS_TOP(part) ((part) == PBLOCK_PART_top)
#define IS_RARE(part) ((part) >= PBLOCK_DIRECT)

/* The offset in the pblock, or in the part. */
#define PLACE(home, name)                                                                          \
	(offsetof(struct pblock_##home, name) +                                                    \
	 IS_TOP(PBLOCK_PART_##home) * offsetof(Slapi_PBlock, top))

static const struct entry entries[PBLOCK_NUMBERS] = {
#define PBLOCK_PART(part)
#define PBLOCK_END(part)
#define PBLOCK_PARAMETER(number, name, type, group, home, preset)                                  \
	[number] = {                                                                               \
		.words = PLACE(home, name) / WORD_SIZE,                                            \
		.index = PBLOCK_PART_##home - IS_RARE(PBLOCK_PART_##home) * PBLOCK_DIRECT,         \
		.rare = -IS_RARE(PBLOCK_PART_##home),                                              \
		.kind = PBLOCK_##type | WIDTH(PBLOCK_##type) | PRESET_BITS(preset),                \
	},
#include "parameters.def"
};

#undef PBLOCK_PARAMETER

_Static_assert(PBLOCK_TEXT_COPY < WIDE, "kinds leave these bits");
_Static_assert(sizeof(union pblock_absent) / WORD_SIZE <= UINT8_MAX, "words of a part");
_Static_assert(offsetof(Slapi_PBlock, part) == 0, "where index counts from");

/* The parts are packed structs; this assertion keeps their members aligned. */
#define SIZE_OF(home, name) sizeof(((struct pblock_##home *)0)->name)
#define ALIGN_OF(size) ((size) < sizeof(uint64_t) ? (size) : sizeof(uint64_t))
#define PBLOCK_PARAMETER(number, name, kind, group, home, preset)                                  \
	_Static_assert(offsetof(struct pblock_##home, name) % ALIGN_OF(SIZE_OF(home, name)) == 0,  \
		       #name);
#include "parameters.def"
#undef PBLOCK_PARAMETER

/* PRESET_BITS() can represent these presets only. */
#define PBLOCK_PARAMETER(number, name, kind, group, home, preset)                                  \
	_Static_assert((preset) >= -1 && (preset) <= 1, #name);
#include "parameters.def"

static inline unsigned kind_of(struct entry entry)
{
	return entry.kind & (WIDE - 1);
}

static inline enum pblock_part number_of_part(struct entry entry)
{
	return entry.index + (entry.rare ? PBLOCK_DIRECT : 0);
}

/* The part that a parameter is read from: its own, or the absent part. */
static inline char *part_of(Slapi_PBlock *pb, struct entry entry)
{
	uintptr_t to_rare = (uintptr_t)pb->part[PBLOCK_PART_rare] - (uintptr_t)pb;
	uintptr_t base = (uintptr_t)pb + (to_rare & (uintptr_t)(intptr_t)entry.rare);

	return ((void **)base)[entry.index];
}

static inline char *place_in(char *part, struct entry entry)
{
	return part + (size_t)entry.words * WORD_SIZE;
}

void *pblock_stored(Slapi_PBlock *pb, unsigned number)
{
	char *part = part_of(pb, entries[number]);

	return part == (char *)&pblock_absent ? NULL : place_in(part, entries[number]);
}

void *pblock_stored_or_new(Slapi_PBlock *pb, unsigned number)
{
	char *part = part_of(pb, entries[number]);

	if (part == (char *)&pblock_absent)
		part = pblock_part_add(pb, number_of_part(entries[number]));
	return part ? place_in(part, entries[number]) : NULL;
}

static bool is_parameter(int number)
{
	return (unsigned)number < PBLOCK_NUMBERS && kind_of(entries[number]) != PBLOCK_NONE;
}

/* Copy an int between a caller and a part, where the preset is stored as zero. */
static inline void copy_narrow(void *to, const void *from, struct entry entry)
{
	int bits;

	memcpy(&bits, from, sizeof(bits));
	bits ^= (int8_t)entry.kind >> PRESET_SHIFT;
	memcpy(to, &bits, sizeof(bits));
}

/* Each function starts a cache line, so that its cost does not depend on the code before it.
 * Two of three accesses are to wide values, so these are the fall-through path; for narrow
 * values the compiler must not jump back to the same return. */
#define FAST_PATH __attribute__((aligned(64)))
#define MOSTLY(condition) __builtin_expect_with_probability(!!(condition), 1, 0.67)

static __attribute__((noinline)) int get_slow(Slapi_PBlock *pb, int number, void *value)
{
	if (!pb || !value || !is_parameter(number))
		return -1;
	if (pblock_is_recording())
		pblock_record(CALL_GET, pb, (uintptr_t)number);

	struct entry entry = entries[number];

	return pblock_value_get(kind_of(entry), number, place_in(part_of(pb, entry), entry), value);
}

FAST_PATH int slapi_pblock_get(Slapi_PBlock *pb, int parameter, void *value)
{
	if (PBLOCK_UNLIKELY(!pb) || PBLOCK_UNLIKELY(!pblock_is_quick(parameter)) ||
	    PBLOCK_UNLIKELY(!value))
		return get_slow(pb, parameter, value);

	struct entry entry = entries[parameter];
	const char *stored = place_in(part_of(pb, entry), entry);

	if (MOSTLY(entry.kind & WIDE))
		memcpy(value, stored, sizeof(void *));
	else if (PBLOCK_LIKELY(entry.kind & NARROW))
		copy_narrow(value, stored, entry);
	else
		return get_slow(pb, parameter, value);
	return 0;
}

/* Storing a default creates no part: an absent part reads as defaults. */
static __attribute__((noinline)) int set_slow(Slapi_PBlock *pb, int number, void *value)
{
	if (!pb || !is_parameter(number))
		return -1;
	if (pblock_is_recording())
		pblock_record(CALL_SET, pb, (uintptr_t)number);

	struct entry entry = entries[number];
	char *part = part_of(pb, entry);

	if (part == (char *)&pblock_absent) {
		if (pblock_value_is_default(kind_of(entry), number, value))
			return 0;
		part = pblock_part_add(pb, number_of_part(entry));
		if (!part)
			return -1;
	}
	return pblock_value_set(kind_of(entry), number, place_in(part, entry), value);
}

FAST_PATH int slapi_pblock_set(Slapi_PBlock *pb, int parameter, void *value)
{
	if (PBLOCK_UNLIKELY(!pb) || PBLOCK_UNLIKELY(!pblock_is_quick(parameter)))
		return set_slow(pb, parameter, value);

	struct entry entry = entries[parameter];
	char *part = part_of(pb, entry), *stored = place_in(part, entry);

	if (PBLOCK_UNLIKELY(part == (char *)&pblock_absent))
		return set_slow(pb, parameter, value);
	if (MOSTLY(entry.kind == (PBLOCK_POINTER | WIDE)))
		memcpy(stored, &value, sizeof(value));
	else if (PBLOCK_LIKELY(entry.kind & NARROW && value))
		copy_narrow(stored, value, entry);
	else
		return set_slow(pb, parameter, value);
	return 0;
}
