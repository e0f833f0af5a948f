/* SPDX-License-Identifier: MIT */
/*
 * A hash table with linear probing, at most half full. An entry has the hash of a name and the
 * cache, which has the name itself. A removal moves up the entries behind it, so the table needs
 * no marks for removed entries.
 */
#include "core/name_table.h"
#include "base/compiler.h"
#include "core/cache.h"
#include "pages/os.h"

#include <string.h>

/* A program with malloc() on libslab has up to 72 caches, most of them fewer than 32. The second
 * table fills a page. */
#define FIRST_ROOM 64u
#define SECOND_ROOM 256u

struct entry {
	struct slab_cache *cache; /* NULL: the entry is empty */
	uint32_t hash;
};

static SLAB_EARLY struct entry first_entries[FIRST_ROOM];
static struct entry *entries = first_entries;
static uint32_t room = FIRST_ROOM; /* a power of two */
static SLAB_EARLY uint32_t count;

/* FNV-1a. */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash;
}

static uint32_t behind(uint32_t i)
{
	return (i + 1) & (room - 1);
}

static void insert(struct entry entry)
{
	uint32_t i = entry.hash & (room - 1);

	while (entries[i].cache)
		i = behind(i);
	entries[i] = entry;
}

bool name_table_reserve(void)
{
	struct entry *old = entries, *larger;
	const uint32_t old_room = room, new_room = room < SECOND_ROOM ? SECOND_ROOM : 2 * room;

	if ((count + 1) * 2 <= room)
		return true;
	larger = os_map(new_room * sizeof(*larger), 1);
	if (!larger)
		return false;
	entries = larger;
	room = new_room;
	for (uint32_t i = 0; i < old_room; i++)
		if (old[i].cache)
			insert(old[i]);
	if (old != first_entries)
		os_unmap(old, old_room * sizeof(*old));
	return true;
}

void name_table_add(struct slab_cache *cache)
{
	insert((struct entry){.cache = cache, .hash = hash_of(cache->name)});
	count++;
}

/* May the entry at `i` move to `to`, which is before it? Only if a search still finds it
 * there. */
static bool may_move(uint32_t i, uint32_t to)
{
	const uint32_t home = entries[i].hash & (room - 1);

	return ((i - home) & (room - 1)) >= ((i - to) & (room - 1));
}

void name_table_remove(const struct slab_cache *cache)
{
	uint32_t i = hash_of(cache->name) & (room - 1);

	while (entries[i].cache != cache)
		i = behind(i);
	for (uint32_t next = behind(i); entries[next].cache; next = behind(next))
		if (may_move(next, i)) {
			entries[i] = entries[next];
			i = next;
		}
	entries[i].cache = NULL;
	count--;
}

struct slab_cache *name_table_find(const char *name)
{
	const uint32_t hash = hash_of(name);

	for (uint32_t i = hash & (room - 1); entries[i].cache; i = behind(i))
		if (entries[i].hash == hash && strcmp(entries[i].cache->name, name) == 0)
			return entries[i].cache;
	return NULL;
}
