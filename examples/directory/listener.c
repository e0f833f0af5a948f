/* SPDX-License-Identifier: MIT */
/* Listeners: make operations, as if they had been read from connections, and
 * free them when they come back. */
#include "traffic.h"

#include <stdlib.h>
#include <string.h>

#define OR_TERMS 10

/* xorshift64*: a random number below `below`. */
static size_t random_below(struct listener *listener, size_t below)
{
	uint64_t x = listener->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	listener->random = x;
	return (size_t)(((x * UINT64_C(2685821657736338717)) >> 32) * below >> 32);
}

static size_t note_length(struct listener *listener)
{
	return NOTE_MIN + random_below(listener, NOTE_MAX - NOTE_MIN + 1);
}

/* The kind of the next operation: 70/10/5/5/5/5 of 100. Adds and deletes go by
 * what the listener has, so that the directory keeps its size. */
static enum kind choose_kind(struct listener *listener)
{
	size_t dice = random_below(listener, 100);

	if (dice < 70)
		return KIND_SEARCH;
	if (dice < 80)
		return KIND_BASE;
	if (dice < 85)
		return KIND_OR;
	if (dice < 90)
		return KIND_MODIFY;
	if (dice < 95 && listener->absent_count)
		return KIND_ADD;
	if (listener->present_count)
		return KIND_DELETE;
	return listener->absent_count ? KIND_ADD : KIND_SEARCH;
}

static const struct slot *any_slot(struct listener *listener)
{
	const struct directory *directory = listener->traffic->directory;

	return &directory->slots[random_below(listener, directory->slot_count)];
}

/* Take any index out of one of the listener's lists. */
static uint32_t take(struct listener *listener, uint32_t *list, size_t *count)
{
	size_t at = random_below(listener, *count);
	uint32_t slot = list[at];

	list[at] = list[--*count];
	return slot;
}

/* The base of a search is the suffix; everything else names its entry. */
static struct dn *search_base(const struct slot *slot)
{
	size_t rdn = record_rdn_end(slot->dn, slot->dn_length);
	size_t skip = rdn < slot->dn_length ? rdn + 1 : 0;

	return dn_make(slot->dn + skip, slot->dn_length - skip);
}

static void make_filter(struct listener *listener, struct operation *operation, unsigned terms)
{
	for (unsigned i = 0; i < terms; i++) {
		const struct slot *slot = any_slot(listener);
		struct value *term = value_make(slot->name, slot->name_length);

		value_hash(term);
		term->next = operation->filter;
		operation->filter = term;
		if (!operation->target)
			operation->target = search_base(slot);
	}
}

static struct dn *slot_dn(const struct slot *slot)
{
	return dn_make(slot->dn, slot->dn_length);
}

static void make_request(struct listener *listener, struct operation *operation)
{
	const struct directory *directory = listener->traffic->directory;
	const struct slot *slots = directory->slots;

	switch (operation->kind) {
	case KIND_SEARCH:
		make_filter(listener, operation, 1);
		break;
	case KIND_OR:
		make_filter(listener, operation, OR_TERMS);
		break;
	case KIND_BASE:
		operation->target = slot_dn(any_slot(listener));
		break;
	case KIND_MODIFY:
		operation->target = slot_dn(any_slot(listener));
		operation->change = note_make(operation->id, note_length(listener));
		break;
	case KIND_ADD:
		operation->slot = take(listener, listener->absent, &listener->absent_count);
		operation->target = slot_dn(&slots[operation->slot]);
		operation->entry = slot_entry(directory, &slots[operation->slot], operation->id,
					      note_length(listener));
		break;
	default:
		operation->slot = take(listener, listener->present, &listener->present_count);
		operation->target = slot_dn(&slots[operation->slot]);
	}
}

static struct operation *make_operation(struct listener *listener)
{
	struct operation *operation = memory_new_operation();
	struct pblock *pblock = memory_new_pblock();

	operation->pblock = pblock;
	operation->id = listener->next_id;
	listener->next_id += listener->traffic->threads;
	operation->listener = listener->index;
	operation->kind = choose_kind(listener);
	make_request(listener, operation);
	pblock->parameter[PB_BACKEND] = (uintptr_t)listener->traffic->directory;
	pblock->parameter[PB_CONNECTION] = (uintptr_t)listener;
	pblock->parameter[PB_OPERATION] = (uintptr_t)operation;
	pblock->parameter[PB_KIND] = operation->kind;
	pblock->parameter[PB_TARGET] = (uintptr_t)operation->target;
	pblock->parameter[PB_FILTER] = (uintptr_t)operation->filter;
	pblock->parameter[PB_CHANGE] = (uintptr_t)operation->change;
	pblock->parameter[PB_ENTRY] = (uintptr_t)operation->entry;
	return operation;
}

/* An entry that a search found must be one that it asked for. */
static bool asked_for(const struct operation *operation, const struct entry *entry)
{
	if (operation->kind == KIND_BASE)
		return entry->dn->hash == operation->target->hash;
	for (const struct value *term = operation->filter; term; term = term->next)
		if (value_equal(term, entry->name))
			return true;
	return false;
}

/* Note what came of an operation. Nobody else adds or deletes this listener's
 * entries, so that these cannot fail. */
static void note_result(struct listener *listener, const struct operation *operation)
{
	uint32_t returned = 0;

	for (const struct entry *entry = operation->results; entry; entry = entry->next_dn) {
		listener->wrong += !asked_for(operation, entry);
		returned++;
	}
	listener->wrong += returned != operation->pblock->parameter[PB_RESULT_ENTRIES];
	listener->entries += returned;
	if (operation->kind != KIND_ADD && operation->kind != KIND_DELETE)
		return;
	listener->wrong += operation->result_code != RESULT_SUCCESS;
	if (operation->kind == KIND_ADD) {
		listener->present[listener->present_count++] = operation->slot;
		listener->growth++;
	} else {
		listener->absent[listener->absent_count++] = operation->slot;
		listener->growth--;
	}
}

static void free_operation(struct operation *operation)
{
	entry_drop_all(operation->results);
	entry_drop_all(operation->entry);
	value_drop_all(operation->filter);
	attribute_drop(operation->change);
	dn_drop(operation->target);
	memory_free_pblock(operation->pblock);
	memory_free_operation(operation);
}

static void hand_over(struct listener *listener)
{
	struct traffic *traffic = listener->traffic;
	struct operation *batch[BATCH];

	for (size_t i = 0; i < BATCH; i++)
		batch[i] = make_operation(listener);
	ring_push(&traffic->workers[listener->next_worker].inbox, batch, BATCH);
	listener->next_worker = (listener->next_worker + 1) % traffic->threads;
	listener->outstanding += BATCH;
}

static void take_back(struct listener *listener)
{
	struct operation *batch[BATCH];
	size_t count = ring_pop(&listener->returned, batch, BATCH);

	listener->outstanding -= count;
	for (size_t i = 0; i < count; i++) {
		note_result(listener, batch[i]);
		free_operation(batch[i]);
	}
}

void *listener_run(void *arg)
{
	struct listener *listener = arg;
	struct traffic *traffic = listener->traffic;

	while (!atomic_load_explicit(&traffic->stop, memory_order_relaxed)) {
		while (listener->outstanding + BATCH <= WINDOW)
			hand_over(listener);
		take_back(listener);
	}
	while (listener->outstanding)
		take_back(listener);
	return NULL;
}

int listener_init(struct listener *listener, struct traffic *traffic, unsigned index)
{
	size_t slots = traffic->directory->slot_count;
	size_t own = slots / traffic->threads + 1;

	memset(listener, 0, sizeof(*listener));
	listener->traffic = traffic;
	listener->index = index;
	listener->next_worker = (index + 1) % traffic->threads;
	listener->random = UINT64_C(88172645463325252) + index * UINT64_C(0x9e3779b97f4a7c15);
	listener->next_id = slots + index;
	listener->present = malloc(own * sizeof(*listener->present));
	listener->absent = malloc(own * sizeof(*listener->absent));
	if (!listener->present || !listener->absent || ring_init(&listener->returned, WINDOW))
		return -1;
	for (size_t slot = index; slot < slots; slot += traffic->threads)
		listener->present[listener->present_count++] = (uint32_t)slot;
	return 0;
}

void listener_destroy(struct listener *listener)
{
	ring_destroy(&listener->returned);
	free(listener->present);
	free(listener->absent);
}
