/* SPDX-License-Identifier: MIT */
/* Many objects at once: a batch of packets, as a network loop wants them. */
#include <slab/define.h>

#include <stdio.h>

#define BATCH 64

struct packet {
	unsigned length;
	unsigned char bytes[1500];
};

int main(void)
{
	struct slab_cache *cache = SLAB_CACHE(struct packet, SLAB_PANIC);
	void *packets[BATCH];
	size_t got;

	/* What this CPU holds already, without a lock: may be fewer, or none. */
	got = slab_alloc_bulk(cache, SLAB_ALLOC_LOCAL, BATCH, packets);
	printf("held by this CPU: %zu of %d\n", got, BATCH);

	/* The rest, from wherever it takes. */
	got += slab_alloc_bulk(cache, SLAB_ALLOC_FULL, BATCH - got, packets + got);
	printf("with fresh slabs: %zu of %d\n", got, BATCH);
	for (size_t i = 0; i < got; i++)
		((struct packet *)packets[i])->length = 0;

	slab_free_bulk(cache, got, packets);
	return slab_cache_destroy(cache) ? 1 : 0;
}
