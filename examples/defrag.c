/* SPDX-License-Identifier: MIT */
/*
 * Objects that can be moved. A directory's entries are found through a hash table, which
 * has the only pointer to each; so when nine of ten are gone, those that are left can be
 * brought together, and the memory between them goes back.
 */
#include <pthread.h>
#include <slab/memory.h>
#include <slab/stats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES 100000u
#define BUCKETS 16384u

struct entry {
	unsigned refs; /* atomic; 0: free, as the constructor leaves it */
	unsigned id;
	struct entry *next; /* in its bucket */
	char dn[696];
};

static struct slab_cache *entries;
static struct entry *table[BUCKETS];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

static int construct(void *obj, void *arg)
{
	struct entry *entry = obj;

	(void)arg;
	entry->refs = 0;
	return 0;
}

/* Where the pointer to an entry stands, or would stand. With table_lock. */
static struct entry **find(unsigned id)
{
	struct entry **at = &table[id % BUCKETS];

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

/*
 * May the object be moved? Not if it is free or not in the table yet (no reference), nor
 * while a thread uses it (more references than the table's own). If it may, the lock is
 * kept: migrate() follows at once.
 */
static int isolate(void *obj, void *arg)
{
	struct entry *entry = obj;

	(void)arg;
	if (__atomic_load_n(&entry->refs, __ATOMIC_ACQUIRE) != 1)
		return 1;
	pthread_mutex_lock(&table_lock);
	if (*find(entry->id) == entry && __atomic_load_n(&entry->refs, __ATOMIC_RELAXED) == 1)
		return 0;
	pthread_mutex_unlock(&table_lock);
	return 1;
}

static int migrate(void *from, void *to, void *arg)
{
	struct entry *old = from;

	(void)arg;
	memcpy(to, from, sizeof(*old));
	*find(old->id) = to;
	old->refs = 0;
	pthread_mutex_unlock(&table_lock);
	return 0;
}

static void add(unsigned id)
{
	struct entry *entry = slab_alloc(entries), **at;

	if (!entry) {
		perror("slab_alloc");
		exit(1);
	}
	entry->id = id;
	snprintf(entry->dn, sizeof(entry->dn), "uid=user%u,ou=people,dc=example,dc=com", id);
	__atomic_store_n(&entry->refs, 1, __ATOMIC_RELEASE);
	pthread_mutex_lock(&table_lock);
	at = &table[id % BUCKETS];
	entry->next = *at;
	*at = entry;
	pthread_mutex_unlock(&table_lock);
}

static void put(struct entry *entry)
{
	if (__atomic_sub_fetch(&entry->refs, 1, __ATOMIC_ACQ_REL) == 0)
		slab_free(entries, entry);
}

static void take_out(unsigned id)
{
	struct entry **at, *entry;

	pthread_mutex_lock(&table_lock);
	at = find(id);
	entry = *at;
	if (entry)
		*at = entry->next;
	pthread_mutex_unlock(&table_lock);
	if (entry)
		put(entry);
}

static double resident_mib(void)
{
	FILE *statm = fopen("/proc/self/statm", "r");
	long pages = 0;

	if (!statm || fscanf(statm, "%*d %ld", &pages) != 1)
		pages = 0;
	if (statm)
		fclose(statm);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static void show(const char *when)
{
	struct slab_stats stats = {.struct_size = sizeof(stats)};

	slab_cache_stats(entries, &stats);
	printf("%-28s %8lu %8lu %10.1f\n", when, (unsigned long)stats.objects,
	       (unsigned long)stats.slabs, resident_mib());
}

int main(void)
{
	const struct slab_cache_args args = {
		.ctor = construct, .isolate = isolate, .migrate = migrate};
	long moved;

	entries = slab_cache_create("entry", sizeof(struct entry), &args, SLAB_PANIC);
	printf("%-28s %8s %8s %10s\n", "", "entries", "slabs", "MiB");
	for (unsigned id = 0; id < ENTRIES; id++)
		add(id);
	show("all entries");
	srandom(1);
	for (unsigned id = 0; id < ENTRIES; id++)
		if (random() % 10)
			take_out(id);
	slab_cache_shrink(entries);
	show("nine of ten deleted");
	moved = slab_cache_defrag(entries);
	show("the others moved together");
	printf("%ld entries were moved\n", moved);

	for (unsigned id = 0; id < ENTRIES; id++)
		take_out(id);
	return slab_cache_destroy(entries) ? 1 : 0;
}
