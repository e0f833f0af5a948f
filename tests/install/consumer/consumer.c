/* SPDX-License-Identifier: MIT */
/* A C program that uses an installed libslab. */
#include <stdio.h>
#include <string.h>

#include <slab/debug.h>
#include <slab/malloc.h>
#include <slab/define.h>
#include <slab/stats.h>

struct entry {
	long id;
	char dn[120];
};

SLAB_DEFINE_TYPED(entry, struct entry);

int main(void)
{
	struct slab_cache *cache = entry_cache_create(NULL, 0);
	struct entry *entry = cache ? entry_zalloc(cache) : NULL;
	char *text = slab_ch_strdup("cn=config");

	if (!entry || entry->id != 0 || strcmp(text, "cn=config") != 0) {
		fprintf(stderr, "consumer: libslab does not work here\n");
		return 1;
	}
	printf("consumer: C, libslab %s, engine %s\n", slab_version(), slab_engine());
	slab_ch_free_string(&text);
	entry_free(cache, entry);
	return slab_cache_destroy(cache) == 0 ? 0 : 1;
}
