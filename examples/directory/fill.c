/* SPDX-License-Identifier: MIT */
/* Records become entries; then copies of them, until there are enough. */
#include "fill.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define RECORDS_MAX 1024
#define ARENA_BLOCK ((size_t)1 << 20)

/* Names live as long as the directory: blocks that are filled and never moved. */
struct arena {
	struct arena *next;
	size_t used;
	char bytes[];
};

static void *need(void *memory)
{
	if (!memory)
		memory_exhausted(ARENA_BLOCK);
	return memory;
}

static const char *arena_copy(struct arena **arena, const char *text, size_t length)
{
	char *to;

	if (!*arena || ARENA_BLOCK - (*arena)->used < length) {
		struct arena *block = need(malloc(sizeof(*block) + ARENA_BLOCK));

		block->next = *arena;
		block->used = 0;
		*arena = block;
	}
	to = (*arena)->bytes + (*arena)->used;
	memcpy(to, text, length);
	(*arena)->used += length;
	return to;
}

struct attribute *note_make(uint64_t id, size_t length)
{
	static const char text[] =
		"Seen again by the inventory; nothing has changed since the last visit, and the "
		"one who keeps it has been told. This note is replaced by every modify operation, "
		"sometimes by a longer one. End of the note.";
	_Static_assert(sizeof(text) > NOTE_MAX, "enough text for the longest note");
	struct attribute *note = attribute_make(NOTE_TYPE, strlen(NOTE_TYPE));

	note->changed = id;
	attribute_append(note, value_make(text, length));
	return note;
}

static void finish_entry(struct entry *entry, uint64_t id, size_t note_length)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t bits = entry->dn->hash;

	entry->id = id;
	for (size_t i = 0; i < 36; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		entry->uuid[i] = dash ? '-' : digits[bits >> 60];
		bits = (bits << 4 | bits >> 60) + id;
	}
	entry_append(entry, note_make(id, note_length));
}

struct entry *slot_entry(const struct directory *directory, const struct slot *slot, uint64_t id,
			 size_t note_length)
{
	const struct record *record = &directory->records[slot->record];
	struct entry *entry = entry_from_record(record, slot->dn, slot->dn_length);

	finish_entry(entry, id, note_length);
	return entry;
}

static size_t note_length(uint64_t id)
{
	return NOTE_MIN + id * 37 % (NOTE_MAX - NOTE_MIN + 1);
}

static bool holds_others(const struct dn *dn)
{
	static const char *const types[] = {"dc", "ou", "o", "c", "l"};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strlen(types[i]) == dn->type_length &&
		    strncasecmp(dn->text, types[i], dn->type_length) == 0)
			return true;
	return false;
}

static void add_slot(struct directory *directory, const struct entry *entry, size_t record)
{
	struct slot *slot;

	if (directory->slot_count == directory->slot_capacity) {
		directory->slot_capacity = directory->slot_capacity * 2 + 1024;
		directory->slots =
			need(realloc(directory->slots, directory->slot_capacity * sizeof(*slot)));
	}
	slot = &directory->slots[directory->slot_count++];
	slot->dn = arena_copy(&directory->names, entry->dn->text, entry->dn->length);
	slot->dn_length = entry->dn->length;
	slot->name = arena_copy(&directory->names, value_data(entry->name), entry->name->length);
	slot->name_length = entry->name->length;
	slot->record = (uint32_t)record;
}

/* One record of the source. False: refused as a bad line. */
static bool add_record(struct directory *directory, struct source *source,
		       const struct record *record)
{
	struct entry *entry = entry_from_record(record, NULL, 0);

	finish_entry(entry, directory->read, note_length(directory->read));
	if (!tree_add(directory->tree, entry)) {
		entry_drop(entry);
		return source_bad(source, record->line, "this record is skipped",
				  "an entry of this DN exists", "one record per DN");
	}
	directory->read++;
	if (holds_others(entry->dn))
		return true;
	if (directory->record_count < RECORDS_MAX)
		record_copy(&directory->records[directory->record_count++], record);
	/* Beyond the records that are kept, an entry that was deleted comes
	 * back with the content of one of those. */
	add_slot(directory, entry, directory->slot_count % directory->record_count);
	return true;
}

/* The n-th copy of a slot's entry: its name gets "~n" at the end. */
static bool add_clone(struct directory *directory, const struct slot *original, uint64_t n)
{
	char dn[DN_MAX_LENGTH + 32];
	size_t rdn = record_rdn_end(original->dn, original->dn_length);
	int length = snprintf(dn, sizeof(dn), "%.*s~%llu%.*s", (int)rdn, original->dn,
			      (unsigned long long)n, (int)(original->dn_length - rdn),
			      original->dn + rdn);
	struct slot slot = {.dn = dn, .dn_length = (uint32_t)length, .record = original->record};
	uint64_t id = directory->slot_count;
	struct entry *entry = slot_entry(directory, &slot, id, note_length(id));

	if (!entry->name->length || !tree_add(directory->tree, entry)) {
		entry_drop(entry);
		return false;
	}
	add_slot(directory, entry, original->record);
	return true;
}

/* Round by round over all slots. A name that exists is passed over. */
void directory_multiply(struct directory *directory, uint64_t entries)
{
	size_t originals = directory->slot_count;
	uint64_t have = directory->read;

	for (uint64_t n = 2; have < entries; n++) {
		uint64_t before = have;

		for (size_t i = 0; i < originals && have < entries; i++) {
			/* By value: the array moves when it grows. */
			struct slot original = directory->slots[i];

			have += add_clone(directory, &original, n);
		}
		if (have == before)
			return;
	}
}

static int read_source(struct directory *directory, const struct args *args)
{
	struct source source;
	struct record record = {0};
	enum source_status status;

	if (source_open(&source, args->ldif, args->bad_lines, args->read_before))
		return -1;
	while ((status = source_next(&source, &record)) == SOURCE_RECORD)
		if (!add_record(directory, &source, &record)) {
			status = SOURCE_REFUSED;
			break;
		}
	if (status == SOURCE_END && !directory->slot_count) {
		fprintf(stderr,
			"directory: %s has no entry to work on: one is needed whose DN starts with "
			"something else than dc, ou, o, c or l\n",
			source.path);
		status = SOURCE_REFUSED;
	}
	source_close(&source);
	record_free(&record);
	directory->bad = source.bad;
	return status == SOURCE_END ? 0 : -1;
}

int directory_read(struct directory *directory, const struct args *args)
{
	memset(directory, 0, sizeof(*directory));
	directory->tree = need(tree_make(args->entries));
	directory->records = need(calloc(RECORDS_MAX, sizeof(*directory->records)));
	if (!read_source(directory, args))
		return 0;
	directory_free(directory);
	return -1;
}

void directory_free(struct directory *directory)
{
	tree_free(directory->tree);
	for (size_t i = 0; i < directory->record_count; i++)
		record_free(&directory->records[i]);
	free(directory->records);
	free(directory->slots);
	while (directory->names) {
		struct arena *next = directory->names->next;

		free(directory->names);
		directory->names = next;
	}
}
