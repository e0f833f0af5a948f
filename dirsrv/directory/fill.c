/* SPDX-License-Identifier: MIT */
/* Records become entries; then copies of them, until there are enough. */
#include "fill.h"
#include "entry_limits.h"
#include "memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define RECORDS_MAX 1024
#define SKIPPED "this record is skipped"
#define ARENA_BLOCK ((size_t)1 << 20)

static const char *arena_copy(struct arena **arena, const char *text, size_t length)
{
	char *to;

	if (!*arena || ARENA_BLOCK - (*arena)->used < length) {
		struct arena *block = memory_or_exit(malloc(sizeof(*block) + ARENA_BLOCK));

		block->next = *arena;
		block->used = 0;
		*arena = block;
	}
	to = (*arena)->bytes + (*arena)->used;
	memcpy(to, text, length);
	(*arena)->used += length;
	return to;
}

/* --- entries ------------------------------------------------------------------------ */

static struct dirsrv_bytes bytes_of(const void *data, size_t length)
{
	const struct dirsrv_bytes bytes = {.data = data, .length = length};

	return bytes;
}

/* What the first value of the naming attribute is in a copy of a record's entry. */
struct rename {
	size_t type_length;
	size_t length;
	char name[NAME_MAX_LENGTH];
};

/* Pairs of a record, and a note; returns how many. */
static size_t pairs_of(const struct record *record, const char *dn, const struct rename *rename,
		       size_t note_length, struct dirsrv_pair *pairs)
{
	bool renamed = !rename; /* only the first naming value makes way */
	size_t i;

	for (i = 0; i < record->count; i++) {
		const struct pair *pair = &record->pairs[i];

		pairs[i].type = bytes_of(record_type(record, i), pair->type_length);
		pairs[i].value = bytes_of(record_value(record, i), pair->value_length);
		if (!renamed && pair->type_length == rename->type_length &&
		    strncasecmp(pairs[i].type.data, dn, pair->type_length) == 0) {
			pairs[i].value = bytes_of(rename->name, rename->length);
			renamed = true;
		}
	}
	pairs[i].type = bytes_of(NOTE_TYPE, strlen(NOTE_TYPE));
	pairs[i].value = bytes_of(note_text, note_length);
	return i + 1;
}

/* An entry of a record; NULL: it cannot be one. */
static struct dirsrv_entry *make_entry(const struct directory *directory,
				       const struct record *record, const char *dn,
				       size_t dn_length, const struct rename *rename, uint64_t id,
				       size_t note_length)
{
	struct dirsrv_pair *pairs =
		memory_or_exit(slab_malloc((record->count + 1) * sizeof(*pairs)));
	size_t n = pairs_of(record, dn, rename, note_length, pairs);
	struct dirsrv_entry *entry = dirsrv_entry_make(directory->pool, dn, dn_length, pairs, n);

	slab_mfree(pairs);
	if (!entry && errno != EINVAL)
		memory_exhausted();
	if (entry)
		dirsrv_entry_set_id(entry, id);
	return entry;
}

struct dirsrv_entry *slot_entry(const struct directory *directory, const struct slot *slot,
				uint64_t id, size_t note_length)
{
	const struct record *record = &directory->records[slot->record];
	struct rename rename;

	rename.length = record_rdn_value(slot->dn, slot->dn_length, &rename.type_length,
					 rename.name, sizeof(rename.name));
	if (!rename.length)
		return NULL;
	return make_entry(directory, record, slot->dn, slot->dn_length, &rename, id, note_length);
}

static size_t note_length(uint64_t id)
{
	return NOTE_MIN + id * 37 % (NOTE_MAX - NOTE_MIN + 1);
}

/* --- slots ---------------------------------------------------------------------------- */

static bool holds_others(const char *dn)
{
	static const char *const types[] = {"dc", "ou", "o", "c", "l"};
	size_t length = strcspn(dn, "= ");

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strlen(types[i]) == length && strncasecmp(dn, types[i], length) == 0)
			return true;
	return false;
}

static void add_slot(struct directory *directory, const struct dirsrv_dn *dn, size_t record)
{
	const char *text, *name;
	size_t length, name_length;
	struct slot *slot;

	if (directory->slot_count == directory->slot_capacity) {
		directory->slot_capacity = directory->slot_capacity * 2 + 1024;
		directory->slots = memory_or_exit(
			realloc(directory->slots, directory->slot_capacity * sizeof(*slot)));
	}
	text = dirsrv_dn_text(dn, &length);
	name = dirsrv_dn_name(dn, &name_length);
	slot = &directory->slots[directory->slot_count++];
	slot->dn = arena_copy(&directory->names, text, length);
	slot->dn_length = (uint32_t)length;
	slot->name = arena_copy(&directory->names, name, name_length);
	slot->name_length = (uint32_t)name_length;
	slot->record = (uint32_t)record;
}

/* The directory takes the entry over. False: there is one with this DN. */
static bool add_entry(struct directory *directory, struct dirsrv_entry *entry)
{
	int error = dirsrv_entry_cache_add(directory->entries, entry);

	dirsrv_entry_put(entry);
	return !error;
}

/* One record of the source. */
static void add_record(struct directory *directory, struct source *source,
		       const struct record *record)
{
	struct dirsrv_entry *entry =
		make_entry(directory, record, record_dn(record), record->dn_length, NULL,
			   directory->read, note_length(directory->read));

	if (!entry) {
		source_bad(source, record->line, SKIPPED, "no entry can be made of this record",
			   "a DN of TYPE=VALUE with commas between, values up to 1.5 MiB");
		return;
	}
	if (!add_entry(directory, entry)) {
		source_bad(source, record->line, SKIPPED, "an entry of this DN exists",
			   "one record per DN");
		return;
	}
	directory->read++;
	if (holds_others(dirsrv_dn_text(dirsrv_entry_dn(entry), NULL)))
		return;
	if (directory->record_count < RECORDS_MAX)
		record_copy(&directory->records[directory->record_count++], record);
	/* Beyond the records that are kept, an entry that was deleted comes
	 * back with the content of one of those. */
	add_slot(directory, dirsrv_entry_dn(entry),
		 directory->slot_count % directory->record_count);
}

/* The n-th copy of a slot's entry: its name gets "~n" at the end. */
static bool add_clone(struct directory *directory, const struct slot *original, uint64_t n)
{
	char dn[DN_MAX_LENGTH + 32];
	size_t rdn = record_rdn_end(original->dn, original->dn_length);
	int length = snprintf(dn, sizeof(dn), "%.*s~%llu%.*s", (int)rdn, original->dn,
			      (unsigned long long)n, (int)(original->dn_length - rdn),
			      original->dn + rdn);
	const struct slot slot = {
		.dn = dn, .dn_length = (uint32_t)length, .record = original->record};
	uint64_t id = directory->slot_count;
	struct dirsrv_entry *entry = slot_entry(directory, &slot, id, note_length(id));

	if (!entry || !add_entry(directory, entry))
		return false;
	add_slot(directory, dirsrv_entry_dn(entry), original->record);
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

	if (source_open(&source, args->ldif))
		return -1;
	while ((status = source_next(&source, &record)) == SOURCE_RECORD)
		add_record(directory, &source, &record);
	if (status == SOURCE_END && !directory->slot_count) {
		fprintf(stderr,
			"directory: %s has no entry to work on: one is needed whose DN starts with "
			"something else than dc, ou, o, c or l\n",
			source.path);
		status = SOURCE_FAILED;
	}
	source_close(&source);
	record_free(&record);
	directory->bad = source.bad;
	return status == SOURCE_END ? 0 : -1;
}

/* --- the directory --------------------------------------------------------------------- */

static bool create_caches(struct directory *directory, size_t entries)
{
	directory->pool = dirsrv_entry_pool_create("db", NULL);
	directory->operations =
		dirsrv_operation_pool_create("operation", sizeof(struct request), NULL);
	if (directory->pool)
		directory->entries = dirsrv_entry_cache_create(directory->pool, 0, entries);
	if (directory->operations && directory->entries)
		return true;
	fprintf(stderr, "directory: cannot create the caches: %s\n", strerror(errno));
	return false;
}

int directory_read(struct directory *directory, const struct args *args)
{
	memset(directory, 0, sizeof(*directory));
	if (!create_caches(directory, args->entries))
		return 1;
	directory->records = memory_or_exit(calloc(RECORDS_MAX, sizeof(*directory->records)));
	if (!read_source(directory, args))
		return 0;
	directory_free(directory);
	return 2;
}
