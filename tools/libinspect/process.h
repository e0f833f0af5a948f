/* SPDX-License-Identifier: MIT */
/*
 * Inspection of a process's caches through a reader (<slab/inspect.h>), or of a core file.
 *
 * The reader copies structures, and this library reads only the copies. It trusts nothing in them:
 * counts bound every loop, pointers are only passed to the reader, and inconsistent data is left
 * out. Descriptors are read segment by segment, several at a time, in one scan for all caches.
 */
#pragma once

#include <slab/inspect.h>
#include <slab/stats.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/debug_record.h"
#include "core/root.h"
#include "core/slab.h"
#include "debug/call_sites.h"
#include "pages/account.h"
#include "report/profile.h"

/* Legacy-layout debug slabs are counted by their debug flags among Z, P and U: the number of
 * combinations (see inspect_layout_flags()). */
#define INSPECT_LAYOUTS 8u

/* What validation found (verify.h). */
struct inspect_verified {
	uint64_t problems;
	unsigned slabs;    /* that were checked */
	unsigned left_out; /* slabs of a node or shard whose lock is taken */
	unsigned locked;   /* nodes and shards whose lists are left out */
};

struct inspect_cache {
	uint64_t address;
	struct slab_cache *copy; /* without its nodes */
	struct slab_stats stats;
	uint64_t objects_partial; /* allocated objects in partial slabs */
	uint64_t populated; /* bytes of slabs that were touched and not purged since */
	/* Legacy-layout slabs: those with no debug flags, and the others by flags. */
	uint64_t legacy_plain, legacy[INSPECT_LAYOUTS];
	long strays; /* see inspect_held() */
	bool tracked; /* inspect_traces() saw a slab with tracks */
	struct inspect_verified verified;
};

struct inspection {
	const struct slab_reader *reader;
	uint64_t root_address;
	struct slab_root root;
	struct slab_process process;
	struct pages pages;
	unsigned areas, cpus, shards; /* shards: of each node */
	bool pairs;              /* entries of arrays have two words (cpu_cache/arrays.h) */
	struct inspect_cache *caches; /* in order of creation */
	uint32_t *index;         /* INDEX_FACTOR * capacity entries: see process.c */
	size_t count, capacity;
	size_t mapped;           /* bytes of caches, index and copies */
	size_t found;            /* number of the last slab's cache */
	uint64_t slab_bytes, populated_bytes, metadata_bytes, array_bytes;
};

/* One slab, as it was read. */
__extension__ struct inspect_slab {
	uint64_t descriptor;
	uint64_t address; /* where its memory starts */
	uint64_t bytes;
	uint64_t side; /* bytes of struct slab_debug and the records */
	uint64_t size; /* from object to object */
	uint64_t populated;
	struct slab slab;        /* the copies, without the map */
	struct slab_debug debug; /* zero for slabs without debug flags */
	unsigned used;
	bool tagged;  /* SLAB_TAG_DEBUG: its objects are freed under the node's lock */
	bool guarded;
	bool is_legacy;  /* nothing is allocated from it */
};

/*
 * inspect_open: read the root and other small structures. Returns 0, or -EPROTO: the layout is
 * not known; -EFAULT: memory could not be read.
 * inspect_load: read the list of caches. Returns 0 or -EFAULT, -ENOMEM, -EPROTO: too many caches;
 * -EAGAIN: the list changed during each attempt, or is damaged.
 * inspect_keep: drop all loaded caches but this one.
 * inspect_close: free the memory. The caller calls it after each of these, even if they failed.
 */
int inspect_open(struct inspection *in, const struct slab_reader *reader, uint64_t root);
int inspect_load(struct inspection *in);
void inspect_keep(struct inspection *in, const struct inspect_cache *cache);
void inspect_close(struct inspection *in);

/* inspect_find: the loaded cache with this name, or NULL. */
struct inspect_cache *inspect_find(const struct inspection *in, const char *name);

/* --- finding a loaded cache ---------------------------------------------------------------- */

/* inspect_number_at: the number of the cache at this address; in->count: none. */
size_t inspect_number_at(const struct inspection *in, uint64_t address);
/* inspect_each_slab: call fn for each slab of the loaded caches. */
int inspect_each_slab(struct inspection *in,
		      void (*fn)(struct inspection *in, struct inspect_cache *cache,
				 const struct inspect_slab *slab, void *arg),
		      void *arg);
/* Copy from the process; 0 or -EFAULT. */
int inspect_read(const struct inspection *in, uint64_t address, size_t size, void *to);
int inspect_read_pieces(const struct inspection *in, uint64_t address, size_t size, size_t stride,
			size_t count, void *to);
/* inspect_fetch: the same to a buffer that grows; all zero it is empty. -ENOMEM: it cannot. */
struct inspect_buffer {
	char *bytes;
	size_t room;
};
int inspect_fetch(const struct inspection *in, uint64_t address, size_t size,
		  struct inspect_buffer *buffer);
void inspect_buffer_free(struct inspect_buffer *buffer);
/* inspect_node: read a node of a loaded cache. */
int inspect_node(const struct inspection *in, const struct inspect_cache *cache, unsigned number,
		 struct cache_node *node);
/* inspect_shards: the number of a cache's shards. inspect_shard: read one of them. */
unsigned inspect_shards(const struct inspection *in);
int inspect_shard(const struct inspection *in, const struct inspect_cache *cache, unsigned number,
		  struct shard *shard);
/* inspect_array_row: the address of a CPU's array of a user, in the process. CPU -1: see
 * cpu_cache/arrays.h. inspect_array_count: the number of objects in an array, from a copy of its
 * `count`; 0 if that cannot be one. */
uint64_t inspect_array_row(const char *arrays, long cpu);
size_t inspect_array_count(const struct inspection *in, uint64_t count);

/* --- counting (tally.c) ------------------------------------------------------------------ */

/* inspect_count: fill in the statistics of all loaded caches, in one scan of the slabs. */
int inspect_count(struct inspection *in);
/* The combination of Z, P and U that index 0 … INSPECT_LAYOUTS - 1 stands for. */
uint64_t inspect_layout_flags(unsigned index);

/* --- call sites (traces_read.c) ----------------------------------------------------------- */

/* inspect_traces: add up the call sites of all loaded caches, in one scan of the slabs, and sort
 * them; 0 or -errno. The caller calls call_sites_end() afterwards, also after an error. */
int inspect_traces(struct inspection *in, struct call_sites *sites);
/* inspect_each_site: call fn for each of a cache, in the order of the caches. */
void inspect_each_site(struct inspection *in, struct call_sites *sites, size_t cache,
		       int (*fn)(const struct slab_call_site *site, void *arg), void *arg);

/* inspect_stack: read the frames of a stack from the depot, SLAB_STACK_MAX at most. Returns their
 * number; 0: the stack is not there. */
unsigned inspect_stack(const struct inspection *in, uint32_t id, const void **frames);

/* --- the heap profile (profile_read.c) --------------------------------------------------- */

/* inspect_profile: copy the profile to *seen, then call fn for each site with samples. Returns 0 or
 * -EFAULT. */
int inspect_profile(struct inspection *in, struct profile *seen,
		    void (*fn)(const struct profile_site *site, void *arg), void *arg);
