/* SPDX-License-Identifier: MIT */
/* Whether the directory is as it must be: every byte is read; and nothing is left when it
 * is taken down. */
#include "fill.h"
#include "memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <urcu/urcu-memb.h>

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
