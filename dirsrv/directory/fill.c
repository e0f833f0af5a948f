/* SPDX-License-Identifier: MIT */
/*
 * Records become entries, then copies of them, until there are enough. Whether the directory is as
 * it must be, and nothing is left when it is taken down.
 */
#include "fill.h"

#include <urcu/urcu-memb.h>

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

/* --- whether it is as it must be ------------------------------------------------------------ */

const char note_text[] =
	"Seen again by the inventory; nothing has changed since the last visit, and the "
	"owner of the record has been notified. This note is replaced by every modify operation, "
	"sometimes by a longer one. End of the note.";
_Static_assert(sizeof(note_text) > NOTE_MAX, "enough text for the longest note");

/* --- every byte ----------------------------------------------------------------------- */

struct measure {
	struct dirsrv_entry_pool *pool;
	struct directory_size *size;
	bool sound;
	unsigned char sum; /* makes the compiler read every byte */
};

static void read_bytes(struct measure *measure, struct dirsrv_bytes bytes)
{
	const unsigned char *byte = bytes.data;

	for (size_t i = 0; i < bytes.length; i++)
		measure->sum ^= byte[i];
}

/* A DN is what its own text gives. */
static bool dn_is_sound(struct dirsrv_entry_pool *pool, const struct dirsrv_dn *dn)
{
	size_t length;
	const char *text = dirsrv_dn_text(dn, &length);
	struct dirsrv_dn *again = dirsrv_dn_make(pool, text, length);
	bool sound = again && dirsrv_dn_equal(dn, again) && strlen(text) == length;

	dirsrv_dn_free(pool, again);
	return sound;
}

/* A note is as it was written, in this life of the entry or by the last modify. */
static bool note_is_sound(const struct dirsrv_entry *entry)
{
	const struct dirsrv_attribute *note =
		dirsrv_entry_find(entry, NOTE_TYPE, strlen(NOTE_TYPE));
	const struct dirsrv_value *value = note ? dirsrv_attribute_first(note) : NULL;

	for (; value; value = dirsrv_value_next(value)) {
		struct dirsrv_bytes bytes = dirsrv_value_data(value);

		if (bytes.length >= NOTE_MIN && bytes.length <= NOTE_MAX &&
		    memcmp(bytes.data, note_text, bytes.length) == 0)
			return true;
	}
	return false;
}

static void measure_attribute(struct measure *measure, const struct dirsrv_attribute *attribute)
{
	size_t values = 0, length;
	const char *type = dirsrv_attribute_type(attribute, &length);

	measure->sound = measure->sound && strlen(type) == length;
	for (const struct dirsrv_value *value = dirsrv_attribute_first(attribute); value;
	     value = dirsrv_value_next(value), values++)
		read_bytes(measure, dirsrv_value_data(value));
	measure->sound = measure->sound && values == dirsrv_attribute_count(attribute);
	measure->size->attributes++;
	measure->size->values += values;
}

static bool measure_entry(struct dirsrv_entry *entry, void *arg)
{
	struct measure *measure = arg;

	measure->sound = measure->sound && dn_is_sound(measure->pool, dirsrv_entry_dn(entry)) &&
			 note_is_sound(entry);
	for (const struct dirsrv_attribute *attribute = dirsrv_entry_first(entry); attribute;
	     attribute = dirsrv_attribute_next(attribute))
		measure_attribute(measure, attribute);
	measure->size->entries++;
	measure->size->bytes += dirsrv_entry_size(entry);
	return true;
}

/* The cache counts as well. */
bool directory_measure(const struct directory *directory, struct directory_size *size)
{
	struct dirsrv_entry_cache_stats stats = {.struct_size = sizeof(stats)};
	struct measure measure = {.pool = directory->pool, .size = size, .sound = true};

	memset(size, 0, sizeof(*size));
	urcu_memb_read_lock();
	dirsrv_entry_cache_each(directory->entries, measure_entry, &measure);
	urcu_memb_read_unlock();
	*(volatile unsigned char *)&measure.sum = measure.sum;
	return measure.sound && dirsrv_entry_cache_stats_read(directory->entries, &stats) == 0 &&
	       stats.entries == size->entries && stats.bytes == size->bytes;
}

/* --- nothing is left -------------------------------------------------------------------- */

static int still_in_use(const char *what, int error)
{
	if (error)
		fprintf(stderr, "directory: %s still in use after teardown: %s\n", what,
			strerror(-error));
	return error;
}

static int free_caches(struct directory *directory)
{
	uint64_t pblocks = memory_pblocks();

	if (pblocks)
		fprintf(stderr, "directory: %llu pblocks and parts of them are left\n",
			(unsigned long long)pblocks);
	if (still_in_use("entries are",
			 dirsrv_entry_cache_destroy(directory->entries, NULL, NULL)) ||
	    still_in_use("parts of entries are", dirsrv_entry_pool_destroy(directory->pool)) ||
	    still_in_use("operations are", dirsrv_operation_pool_destroy(directory->operations)) ||
	    pblocks)
		return -1;
	return 0;
}

int directory_free(struct directory *directory)
{
	for (size_t i = 0; i < directory->record_count; i++)
		record_free(&directory->records[i]);
	free(directory->records);
	free(directory->slots);
	while (directory->names) {
		struct arena *next = directory->names->next;

		free(directory->names);
		directory->names = next;
	}
	return free_caches(directory);
}
