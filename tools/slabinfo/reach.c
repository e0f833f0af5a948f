/* SPDX-License-Identifier: MIT */
/*
 * The search. Words are taken as they are: a number that happens to be the address of an object
 * reaches it, so the search may miss leaks. What it reports is not in any word at an address
 * divisible by 8.
 *
 * Objects that are no leaks by their state are roots, too: those that wait for a grace period,
 * those of a reserve, and free objects that stay constructed, which own what their constructor
 * allocated.
 */
#include "reach.h"
#include "array.h"
#include "fail.h"
#include "model.h"

/* The marks of an object. */
#define ALLOCATED 1u
#define REACHED 2u    /* from the roots */
#define REFERENCED 4u /* by an object that is not reached */
#define HELD 8u       /* by a leak, or one itself */

static uint64_t address_of(const struct reach *reach, struct reach_at at)
{
	const struct reach_slab *slab = &reach->slab[at.slab];

	return slab->first + at.index * slab->stride;
}

static uint8_t *mark_of(const struct reach *reach, struct reach_at at)
{
	return &reach->mark[reach->slab[at.slab].mark + at.index];
}

/* The object that has an address. false: none. */
static bool find(const struct reach *reach, uint64_t address, struct reach_at *at)
{
	const struct reach_slab *slab;
	uint32_t entry;
	uint64_t into;

	if (address < reach->lowest || address >= reach->highest)
		return false;
	entry = *reach_entry(reach, address);
	if (!entry)
		return false;
	slab = &reach->slab[entry - 1];
	if (address < slab->first || address >= slab->end)
		return false;
	into = address - slab->first;
	*at = (struct reach_at){entry - 1, (uint32_t)(into / slab->stride)};
	return into % slab->stride < slab->size;
}

/* --- words ------------------------------------------------------------------------------------ */

/* What to do with an object that a word leads to. */
typedef void meet(struct reach *reach, struct reach_at at, void *arg);

static void look(struct reach *reach, const void *words, size_t count, meet *fn, void *arg)
{
	struct reach_at at;

	for (size_t i = 0; i < count; i++) {
		uint64_t word;

		memcpy(&word, (const char *)words + i * sizeof(word), sizeof(word));
		if (find(reach, word, &at))
			fn(reach, at, arg);
	}
}

/* Look at the words of a range. What cannot be read has none. */
static void look_through(struct reach *reach, uint64_t start, uint64_t end, meet *fn, void *arg)
{
	start = (start + 7) & ~UINT64_C(7);
	while (start + sizeof(uint64_t) <= end) {
		const size_t n =
			end - start < REACH_BUFFER ? (end - start) & ~UINT64_C(7) : REACH_BUFFER;

		if (memory_read(reach->memory, start, n, reach->buffer) == 0)
			look(reach, reach->buffer, n / sizeof(uint64_t), fn, arg);
		start += n;
	}
}

static void look_into(struct reach *reach, struct reach_at at, meet *fn, void *arg)
{
	const uint64_t start = address_of(reach, at);

	look_through(reach, start, start + reach->slab[at.slab].size, fn, arg);
}

static void push(struct reach *reach, struct reach_at at)
{
	reach->work[reach->todo++] = at;
}

/* --- from the roots --------------------------------------------------------------------------- */

static void reach_one(struct reach *reach, struct reach_at at, void *arg)
{
	uint8_t *mark = mark_of(reach, at);

	(void)arg;
	if ((*mark & (ALLOCATED | REACHED)) != ALLOCATED)
		return;
	*mark |= REACHED;
	push(reach, at);
}

static void follow(struct reach *reach)
{
	while (reach->todo)
		look_into(reach, reach->work[--reach->todo], reach_one, NULL);
}

static bool stays_constructed(const struct reach *reach, const struct reach_slab *slab)
{
	struct json_object *caches = model_member(reach->objects, "caches");

	return slab->cache != REACH_LARGE &&
	       json_object_get_boolean(
		       model_member(json_object_array_get_idx(caches, slab->cache), "has_ctor"));
}

static bool is_root(char state, bool constructed)
{
	return state == 'w' || state == 'r' || (constructed && (state == 'f' || state == 'h'));
}

static void mark_states(struct reach *reach)
{
	for (uint32_t s = 0; s < reach->slabs; s++) {
		const struct reach_slab *slab = &reach->slab[s];

		for (uint32_t i = 0; i < slab->count; i++) {
			if (slab->states[i] != 'a')
				continue;
			reach->mark[slab->mark + i] = ALLOCATED;
			reach->allocated++;
			reach->bytes += slab->size;
		}
	}
}

static void follow_states(struct reach *reach)
{
	for (uint32_t s = 0; s < reach->slabs; s++) {
		const struct reach_slab *slab = &reach->slab[s];
		const bool constructed = stays_constructed(reach, slab);

		for (uint32_t i = 0; i < slab->count; i++) {
			if (is_root(slab->states[i], constructed))
				look_into(reach, (struct reach_at){s, i}, reach_one, NULL);
		}
		follow(reach);
	}
}

static void see_root(uint64_t start, uint64_t end, void *arg)
{
	struct reach *reach = arg;

	look_through(reach, start, end, reach_one, NULL);
	reach->root_bytes += end - start;
	follow(reach);
	if (reach->progress)
		reach->progress("searching", reach->root_bytes, 0);
}

static void see_words(const uint64_t *words, size_t count, void *arg)
{
	look(arg, words, count, reach_one, NULL);
}

/* --- leaks ------------------------------------------------------------------------------------ */

static bool is_lost(uint8_t mark)
{
	return (mark & (ALLOCATED | REACHED)) == ALLOCATED;
}

static void refer(struct reach *reach, struct reach_at at, void *arg)
{
	const struct reach_at *from = arg;

	if (at.slab != from->slab || at.index != from->index)
		*mark_of(reach, at) |= REFERENCED;
}

static void hold(struct reach *reach, struct reach_at at, void *arg)
{
	struct reach_leak *leak = arg;
	uint8_t *mark = mark_of(reach, at);

	if (!is_lost(*mark) || *mark & HELD)
		return;
	*mark |= HELD;
	leak->held++;
	leak->held_bytes += reach->slab[at.slab].size;
	push(reach, at);
}

static uint32_t stack_of(const struct reach_slab *slab, uint32_t index)
{
	if (!slab->stacks)
		return 0;
	return (uint32_t)json_object_get_uint64(json_object_array_get_idx(slab->stacks, index));
}

static struct reach_leak *new_leak(struct reach *reach)
{
	struct reach_leak *leaks =
		array_with_room(reach->leak, reach->leaks, &reach->leak_room, sizeof(*leaks));

	if (!leaks)
		return NULL;
	reach->leak = leaks;
	return &reach->leak[reach->leaks++];
}

/* An object is a leak; everything that only it leads to belongs to it. */
static bool take_leak(struct reach *reach, struct reach_at at)
{
	const struct reach_slab *slab = &reach->slab[at.slab];
	struct reach_leak *leak = new_leak(reach);

	if (!leak)
		return false;
	*leak = (struct reach_leak){.address = address_of(reach, at),
				    .size = slab->size,
				    .cache = slab->cache,
				    .stack = stack_of(slab, at.index)};
	*mark_of(reach, at) |= HELD;
	push(reach, at);
	while (reach->todo)
		look_into(reach, reach->work[--reach->todo], hold, leak);
	return true;
}

/* Call fn for each lost object until it returns false. */
static bool each_lost(struct reach *reach, bool (*fn)(struct reach *reach, struct reach_at at))
{
	bool more = true;

	for (uint32_t s = 0; s < reach->slabs && more; s++) {
		for (uint32_t i = 0; i < reach->slab[s].count && more; i++) {
			if (is_lost(reach->mark[reach->slab[s].mark + i]))
				more = fn(reach, (struct reach_at){s, i});
		}
	}
	return more;
}

static bool refer_from(struct reach *reach, struct reach_at at)
{
	look_into(reach, at, refer, &at);
	return true;
}

static bool take_if_unreferenced(struct reach *reach, struct reach_at at)
{
	return *mark_of(reach, at) & (REFERENCED | HELD) || take_leak(reach, at);
}

/* What is left leads to itself in circles: the first object of a circle stands for it. */
static bool take_if_not_held(struct reach *reach, struct reach_at at)
{
	return *mark_of(reach, at) & HELD || take_leak(reach, at);
}

bool reach_search(struct reach *reach)
{
	const struct root_visitor visitor = {see_words, see_root, reach};

	mark_states(reach);
	if (!roots_visit(reach->memory, reach->regions, &visitor))
		return false;
	follow_states(reach);
	each_lost(reach, refer_from);
	if (each_lost(reach, take_if_unreferenced) && each_lost(reach, take_if_not_held))
		return true;
	fail("no memory for %zu leaks", reach->leaks);
	return false;
}
