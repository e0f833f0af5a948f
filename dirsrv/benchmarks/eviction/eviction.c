/* SPDX-License-Identifier: MIT */
/*
 * eviction POLICY: how many lookups hit, by the policy that chooses which entry goes.
 *
 * The lookups are random, by Zipf's law with exponent 0.9. They are repeated with a search through
 * all entries after as many lookups as there are entries; hits are counted among the other lookups.
 * S3-FIFO is the entry cache's own policy.c; CLOCK, with one bit, stands here. All entries
 * have one size. Prints case,size,metric,value: the size is that of the cache in percent of the
 * entries, and the value the hits in percent.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "entry_cache_internal.h"

#define ENTRY_BYTES ((size_t)1024)
#define ENTRIES 20000u
#define LOOKUPS 1000000u
#define EXPONENT 0.9
#define EXIT_USAGE 2

static void *take(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory) {
		fprintf(stderr, "eviction: no memory\n");
		exit(EXIT_FAILURE);
	}
	return memory;
}

static size_t power_of_two(size_t least)
{
	size_t power = 1024;

	while (power < least)
		power *= 2;
	return power;
}

static uint64_t random_state = 1;

static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* The numbers of the entries that are looked up. */
static uint32_t *make_lookups(void)
{
	uint32_t *lookups = take(LOOKUPS, sizeof(*lookups));
	double *below = take(ENTRIES, sizeof(*below)), sum = 0;

	for (uint32_t i = 0; i < ENTRIES; i++)
		below[i] = sum += pow(i + 1, -EXPONENT);
	for (size_t n = 0; n < LOOKUPS; n++) {
		double at = (double)(random_number() >> 11) / (double)(1ull << 53) * sum;
		uint32_t low = 0, high = ENTRIES - 1;

		while (low < high) {
			uint32_t middle = low + (high - low) / 2;

			if (below[middle] < at)
				low = middle + 1;
			else
				high = middle;
		}
		lookups[n] = low;
	}
	free(below);
	return lookups;
}

/* Caches */

struct cache {
	const char *name;
	void (*begin)(uint32_t capacity);
	bool (*look)(uint32_t number); /* true: a hit; else it is in the cache from now on */
	void (*end)(void);
};

static uint32_t capacity, used;

static struct policy policy;
static struct dirsrv_entry *entry;
static struct dirsrv_dn *dn;

static void fifo_begin(uint32_t most)
{
	capacity = most;
	entry = take(ENTRIES, sizeof(*entry));
	dn = take(ENTRIES, sizeof(*dn));
	for (uint32_t i = 0; i < ENTRIES; i++) {
		dn[i].hash = random_number();
		entry[i].dn = &dn[i];
		entry[i].charged = ENTRY_BYTES;
	}
	used = 0;
	if (!policy_init(&policy, power_of_two(most)))
		exit(EXIT_FAILURE);
}

static bool fifo_look(uint32_t number)
{
	struct dirsrv_entry *one = &entry[number];

	if (one->references) {
		policy_use(one);
		return true;
	}
	if (used == capacity)
		policy_victim(&policy, capacity * ENTRY_BYTES, VAIN_ALL);
	else
		used++;
	one->references = 1;
	one->uses = 0;
	policy_insert(&policy, one);
	return false;
}

static void fifo_end(void)
{
	policy_free(&policy);
	free(entry);
	free(dn);
}

/* A ring of entries, a hand, and a bit for each entry that was used since the hand came by. */
#define NONE UINT32_MAX
static uint32_t *ring, hand;
static bool *present, *bit;

static void clock_begin(uint32_t most)
{
	capacity = most;
	ring = take(most, sizeof(*ring));
	present = take(ENTRIES, sizeof(*present));
	bit = take(ENTRIES, sizeof(*bit));
	used = hand = 0;
}

static bool clock_look(uint32_t number)
{
	if (present[number])
		return bit[number] = true;
	present[number] = true;
	if (used < capacity) {
		ring[used++] = number;
		return false;
	}
	while (bit[ring[hand]]) {
		bit[ring[hand]] = false;
		hand = (hand + 1) % capacity;
	}
	present[ring[hand]] = false;
	ring[hand] = number;
	hand = (hand + 1) % capacity;
	return false;
}

static void clock_end(void)
{
	free(ring);
	free(present);
	free(bit);
}

static const struct cache caches[] = {
	{"S3-FIFO", fifo_begin, fifo_look, fifo_end},
	{"CLOCK", clock_begin, clock_look, clock_end},
};

/* Percent of the lookups. */
static double hits(const struct cache *cache, const uint32_t *lookups, uint32_t most, bool searches)
{
	size_t hit = 0;

	cache->begin(most);
	for (size_t i = 0; i < LOOKUPS; i++) {
		hit += cache->look(lookups[i]);
		if (!searches || i % ENTRIES != ENTRIES - 1)
			continue;
		for (uint32_t number = 0; number < ENTRIES; number++)
			cache->look(number);
	}
	cache->end();
	return 100.0 * (double)hit / LOOKUPS;
}

int main(int argc, char **argv)
{
	static const unsigned shares[] = {1, 5, 10, 20, 40, 80};
	const size_t count = sizeof(caches) / sizeof(caches[0]);
	uint32_t *lookups;
	size_t cache = 0;

	while (argc > 1 && cache < count && strcmp(caches[cache].name, argv[1]) != 0)
		cache++;
	if (argc != 2 || cache == count) {
		fprintf(stderr, "usage: eviction S3-FIFO|CLOCK\n");
		return EXIT_USAGE;
	}
	lookups = make_lookups();
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		uint32_t most = ENTRIES * shares[i] / 100;

		printf("zipf,%u,hit_rate,%.1f\n", shares[i],
		       hits(&caches[cache], lookups, most, false));
		printf("zipf+searches,%u,hit_rate,%.1f\n", shares[i],
		       hits(&caches[cache], lookups, most, true));
	}
	free(lookups);
	return EXIT_SUCCESS;
}
