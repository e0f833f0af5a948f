/* SPDX-License-Identifier: MIT */
/* Listeners: make operations, as if they had been read from connections, and
 * free them when they come back. */
#include "traffic.h"

#include <urcu/urcu-memb.h>

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

static struct dirsrv_dn *slot_dn(struct listener *listener, const struct slot *slot)
{
	struct dirsrv_entry_pool *pool = listener->traffic->directory->pool;

	return memory_or_exit(dirsrv_dn_make(pool, slot->dn, slot->dn_length));
}

/* --- requests --------------------------------------------------------------------------- */

/* The base of a search is what holds the entry, if there is that; everything else
 * names its entry. */
static struct dirsrv_dn *search_base(struct listener *listener, const struct slot *slot)
{
	size_t skip = record_rdn_end(slot->dn, slot->dn_length) + 1;
	struct dirsrv_dn *base = NULL;

	if (skip < slot->dn_length)
		base = dirsrv_dn_make(listener->traffic->directory->pool, slot->dn + skip,
				      slot->dn_length - skip);
	return base ? base : slot_dn(listener, slot);
}

static struct filter *make_term(const struct slot *slot, struct filter *next)
{
	struct filter *term = memory_or_exit(slab_malloc(sizeof(*term) + slot->name_length));

	term->next = next;
	term->length = slot->name_length;
	memcpy(term->name, slot->name, slot->name_length);
	return term;
}

/* The first term as a client writes it; the others look the same. */
static char *filter_text(const struct filter *term)
{
	static const char start[] = "(cn=";
	char *text = memory_or_exit(slab_malloc(strlen(start) + term->length + 2));

	memcpy(text, start, strlen(start));
	memcpy(text + strlen(start), term->name, term->length);
	memcpy(text + strlen(start) + term->length, ")", 2);
	return text;
}

static void ask_search(struct listener *listener, Slapi_PBlock *pb, unsigned terms)
{
	const struct slot *slot = NULL;
	struct filter *filter = NULL;

	for (unsigned i = 0; i < terms; i++) {
		slot = any_slot(listener);
		filter = make_term(slot, filter);
	}
	pblock_set_pointer(pb, SLAPI_TARGET_SDN, search_base(listener, slot));
	pblock_set_pointer(pb, SLAPI_SEARCH_FILTER, filter);
	pblock_set_pointer(pb, SLAPI_SEARCH_STRFILTER, filter_text(filter));
}

static void ask_modify(struct listener *listener, Slapi_PBlock *pb)
{
	size_t length = note_length(listener);
	struct change *change = memory_or_exit(slab_malloc(sizeof(*change) + length));

	change->length = length;
	memcpy(change->note, note_text, length);
	pblock_set_pointer(pb, SLAPI_TARGET_SDN, slot_dn(listener, any_slot(listener)));
	pblock_set_pointer(pb, SLAPI_MODIFY_MODS, change);
}

static void ask_add(struct listener *listener, Slapi_PBlock *pb, struct request *request)
{
	const struct directory *directory = listener->traffic->directory;
	const struct slot *slot;

	request->slot = take(listener, listener->absent, &listener->absent_count);
	slot = &directory->slots[request->slot];
	pblock_set_pointer(pb, SLAPI_TARGET_SDN, slot_dn(listener, slot));
	pblock_set_pointer(
		pb, SLAPI_ADD_ENTRY,
		memory_or_exit(slot_entry(directory, slot, request->id, note_length(listener))));
}

static void ask_delete(struct listener *listener, Slapi_PBlock *pb, struct request *request)
{
	request->slot = take(listener, listener->present, &listener->present_count);
	pblock_set_pointer(pb, SLAPI_TARGET_SDN,
			   slot_dn(listener, &listener->traffic->directory->slots[request->slot]));
}

static void ask(struct listener *listener, Slapi_PBlock *pb, struct request *request)
{
	switch (request->kind) {
	case KIND_SEARCH:
		ask_search(listener, pb, 1);
		break;
	case KIND_OR:
		ask_search(listener, pb, OR_TERMS);
		break;
	case KIND_BASE:
		pblock_set_pointer(pb, SLAPI_TARGET_SDN, slot_dn(listener, any_slot(listener)));
		break;
	case KIND_MODIFY:
		ask_modify(listener, pb);
		break;
	case KIND_ADD:
		ask_add(listener, pb, request);
		break;
	default:
		ask_delete(listener, pb, request);
	}
}

/* An operation with its pblock; the listener has the reference. */
static struct dirsrv_operation_handle make_operation(struct listener *listener)
{
	static const uint32_t tags[KIND_COUNT] = {0x63, 0x63, 0x63, 0x66, 0x68, 0x4a};
	struct directory *directory = listener->traffic->directory;
	enum kind kind = choose_kind(listener);
	const struct dirsrv_operation_request received = {
		.connection = listener,
		.connection_id = listener->index,
		.message_id = (uint32_t)listener->next_id,
		.tag = tags[kind],
	};
	struct dirsrv_operation *operation =
		memory_or_exit(dirsrv_operation_new(directory->operations, &received));
	Slapi_PBlock *pb = memory_or_exit(slapi_pblock_new());
	struct request *request = dirsrv_operation_room(operation);

	request->kind = kind;
	request->id = listener->next_id;
	listener->next_id += listener->traffic->threads;
	ask(listener, pb, request);
	server_accept(operation, pb, directory);
	dirsrv_operation_set_pblock(operation, pb);
	return dirsrv_operation_handle_of(operation);
}

/* --- results ------------------------------------------------------------------------------ */

/* An entry that a search found must be one that it asked for. */
static bool asked_for(Slapi_PBlock *pb, enum kind kind, const struct dirsrv_entry *entry)
{
	const struct dirsrv_dn *dn = dirsrv_entry_dn(entry);
	size_t length;
	const char *name = dirsrv_dn_name(dn, &length);

	if (kind == KIND_BASE)
		return dirsrv_dn_equal(dn, pblock_pointer(pb, SLAPI_TARGET_SDN));
	for (const struct filter *term = pblock_pointer(pb, SLAPI_SEARCH_FILTER); term;
	     term = term->next)
		if (term->length == length && memcmp(term->name, name, length) == 0)
			return true;
	return false;
}

/* Entries that were found, each of them right, and as many as was said. */
static void note_found(struct listener *listener, Slapi_PBlock *pb, enum kind kind)
{
	int returned = 0;

	for (const struct found *found = pblock_pointer(pb, SLAPI_SEARCH_RESULT_SET); found;
	     found = found->next, returned++)
		listener->wrong += !asked_for(pb, kind, found->entry);
	listener->wrong += returned != pblock_number(pb, SLAPI_NENTRIES);
	listener->entries += (uint64_t)returned;
}

/* Note an operation's result. No other thread adds or deletes this listener's entries, so
 * these operations cannot fail. */
static void note_result(struct listener *listener, Slapi_PBlock *pb, const struct request *request)
{
	bool failed = pblock_number(pb, SLAPI_RESULT_CODE) != RESULT_SUCCESS;

	switch (request->kind) {
	case KIND_ADD:
		listener->wrong += failed;
		listener->present[listener->present_count++] = request->slot;
		listener->growth++;
		break;
	case KIND_DELETE:
		listener->wrong += failed;
		listener->absent[listener->absent_count++] = request->slot;
		listener->growth--;
		break;
	case KIND_MODIFY:
		break; /* another listener may have deleted it */
	default:
		note_found(listener, pb, (enum kind)request->kind);
	}
}

static void free_found(struct found *found)
{
	while (found) {
		struct found *next = found->next;

		dirsrv_entry_put(found->entry);
		slab_mfree(found);
		found = next;
	}
}

static void free_filter(struct filter *term)
{
	while (term) {
		struct filter *next = term->next;

		slab_mfree(term);
		term = next;
	}
}

static void free_operation(struct listener *listener, struct dirsrv_operation *operation,
			   Slapi_PBlock *pb)
{
	const struct request *request = dirsrv_operation_room(operation);

	switch (request->kind) {
	case KIND_MODIFY:
		slab_mfree(pblock_pointer(pb, SLAPI_MODIFY_MODS));
		break;
	case KIND_ADD:
		dirsrv_entry_put(pblock_pointer(pb, SLAPI_ADD_ENTRY));
		break;
	case KIND_DELETE:
		break;
	default:
		free_found(pblock_pointer(pb, SLAPI_SEARCH_RESULT_SET));
		free_filter(pblock_pointer(pb, SLAPI_SEARCH_FILTER));
		slab_mfree(pblock_pointer(pb, SLAPI_SEARCH_STRFILTER));
	}
	dirsrv_dn_free(listener->traffic->directory->pool, pblock_pointer(pb, SLAPI_TARGET_SDN));
	pblock_end(&listener->use, pb);
	dirsrv_operation_put(operation);
}

/* What came back must be what was sent: that very life of the operation, and done. */
static void finish(struct listener *listener, struct dirsrv_operation_handle handle)
{
	struct dirsrv_operation *operation = handle.operation;
	Slapi_PBlock *pb = dirsrv_operation_pblock(operation);

	listener->wrong += dirsrv_operation_handle_of(operation).generation != handle.generation ||
			   dirsrv_operation_connection(operation) != listener ||
			   dirsrv_operation_state(operation) != DIRSRV_OPERATION_DONE;
	note_result(listener, pb, dirsrv_operation_room(operation));
	free_operation(listener, operation, pb);
}

/* --- the load ------------------------------------------------------------------------------- */

static void hand_over(struct listener *listener)
{
	struct traffic *traffic = listener->traffic;
	struct dirsrv_operation_handle batch[BATCH];

	for (size_t i = 0; i < BATCH; i++)
		batch[i] = make_operation(listener);
	ring_push(&traffic->workers[listener->next_worker].inbox, batch, BATCH);
	listener->next_worker = (listener->next_worker + 1) % traffic->threads;
	listener->outstanding += BATCH;
}

static void take_back(struct listener *listener)
{
	struct dirsrv_operation_handle batch[BATCH];
	size_t count = ring_pop(&listener->returned, batch, BATCH);

	listener->outstanding -= count;
	for (size_t i = 0; i < count; i++)
		finish(listener, batch[i]);
}

void *listener_run(void *arg)
{
	struct listener *listener = arg;
	struct traffic *traffic = listener->traffic;

	urcu_memb_register_thread();
	while (!atomic_load_explicit(&traffic->stop, memory_order_relaxed)) {
		while (listener->outstanding + BATCH <= WINDOW)
			hand_over(listener);
		take_back(listener);
	}
	while (listener->outstanding)
		take_back(listener);
	urcu_memb_unregister_thread();
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
