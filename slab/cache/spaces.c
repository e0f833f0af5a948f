/* SPDX-License-Identifier: MIT */
/* The address spaces of destroyed caches (spaces.h). */
#include "cache/spaces.h"

#include <slab/slab.h>
#include <string.h>

#include "base/compiler.h"
#include "pages/free_slabs.h"

struct named_space {
	struct space space; /* first: spaces_put() gets it */
	struct named_space *next;
	size_t object_size, align;
	bool has_rcu;
	char name[SLAB_MAX_NAME + 1];
};

/* Of destroyed caches. */
static SLAB_EARLY struct named_space *kept;

static bool is_of(const struct named_space *named, const struct space_key *key)
{
	return named->object_size == key->object_size && named->align == key->align &&
	       named->has_rcu == key->has_rcu && strcmp(named->name, key->name) == 0;
}

static struct named_space *find_kept(const struct space_key *key)
{
	struct named_space **at = &kept, *found;

	while (*at && !is_of(*at, key))
		at = &(*at)->next;
	found = *at;
	if (found)
		*at = found->next;
	return found;
}

static struct named_space *make(const struct space_key *key)
{
	struct named_space *named = metadata_block_take(sizeof(*named));

	if (!named)
		return NULL;
	memset(named, 0, sizeof(*named));
	named->object_size = key->object_size;
	named->align = key->align;
	named->has_rcu = key->has_rcu;
	memcpy(named->name, key->name, strlen(key->name) + 1);
	return named;
}

struct space *spaces_take(const struct space_key *key)
{
	struct named_space *named = find_kept(key);

	if (!named)
		named = make(key);
	return named ? &named->space : NULL;
}

void spaces_put(struct space *space)
{
	struct named_space *named = (struct named_space *)space;

	if (!named)
		return;
	if (!named->space.bytes) {
		metadata_block_put(named);
		return;
	}
	named->next = kept;
	kept = named;
}
