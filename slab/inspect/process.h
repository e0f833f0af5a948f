/* SPDX-License-Identifier: MIT */
/*
 * One look at a process's caches, through a reader (<slab/inspect.h>).
 *
 * The structures of the process are copied and only the copies are looked at.
 * Nothing is believed: counts bound every loop, pointers are only ever given to
 * the reader, and what does not fit together is left out. Descriptors are read
 * segment by segment, in two or three pieces, once for all caches.
 */
#ifndef SLAB_INSPECT_PROCESS_H
#define SLAB_INSPECT_PROCESS_H

#include <slab/inspect.h>
#include <slab/stats.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/debug_record.h"
#include "core/slab.h"
#include "inspect/counters.h"
#include "inspect/root.h"
#include "pages/account.h"

/* Slabs of former debug flags: without any, and by those of Z, P, U (see
 * inspect_layout_flags()). */
#define INSPECT_LAYOUTS 8u

/* The file that an address lies in. */
typedef bool (*inspect_locate)(const void *address, char *path, size_t size, uint64_t *ret_offset);

struct inspect_cache {
	uint64_t address;
	struct slab_cache *copy; /* without its nodes */
	struct slab_stats stats;
	uint64_t legacy_plain, legacy[INSPECT_LAYOUTS];
};

struct inspection {
	const struct slab_reader *reader;
	uint64_t root_address;
	struct slab_root root;
	struct slab_process process;
	struct pages pages;
	unsigned slot_areas, cpus;
	bool links;              /* freelists are links (cmpxchg16b) */
	struct inspect_cache *caches; /* in order of creation */
	uint32_t *index;         /* INDEX_FACTOR * capacity: see cache_index.c */
	size_t count, capacity;
	size_t mapped;           /* bytes of caches, index and copies */
	size_t found;            /* number of the cache of the slab seen last */
	uint64_t slab_bytes, populated_bytes, metadata_bytes, slot_bytes;
	uint64_t counter_words[2]; /* read so far: of counters with few words, and of others */
	inspect_locate locate; /* for stacks; NULL: files are not looked up */
};

/* One slab as it was seen. */
struct inspect_slab {
	uint64_t descriptor;
	uint64_t address; /* of its first object */
	uint64_t bytes;
	uint64_t side; /* bytes for what is known of its objects */
	uint64_t populated;
	struct slab slab;        /* the copies */
	struct slab_debug debug; /* debug flags 0 for slabs without */
	unsigned used;
	bool tagged;  /* freed under the node's lock */
	bool guarded;
	bool is_legacy;  /* not allocated from any more */
	uint32_t owner; /* CPU_NONE: no owner */
};

/* The process that this code runs in. */
extern const struct slab_reader inspect_self;

/*
 * inspect_open: read the root and what is as small; 0, or -EPROTO, -EFAULT.
 * inspect_load: the list of caches; -EFAULT, -ENOMEM, -EPROTO: too many; -EAGAIN: it
 * never was the same from its beginning to its end, or is damaged.
 * inspect_load_one: a single one, into the caller's `room` and `copy`: this needs no
 * memory. -EFAULT, or -ENOENT: there is no cache at that address.
 * inspect_keep: of those that are loaded, only this one.
 * inspect_close: gives the memory back, after each of them, failed or not.
 */
int inspect_open(struct inspection *in, const struct slab_reader *reader, uint64_t root);
int inspect_load(struct inspection *in);
int inspect_load_one(struct inspection *in, uint64_t cache, struct inspect_cache *room,
		     struct slab_cache *copy);
void inspect_keep(struct inspection *in, const struct inspect_cache *cache);
void inspect_close(struct inspection *in);

/* inspect_find: the cache of this name or alias, or NULL. */
struct inspect_cache *inspect_find(const struct inspection *in, const char *name);

/* --- finding a loaded cache (cache_index.c) ---------------------------------------------- */

#define INDEX_FACTOR 2u /* places for each cache; in all they are a power of two */

/* inspect_index: make the caches that are loaded findable. `renewed`: some may be there
 * twice, as they were before they were destroyed and created again: that is left out. */
void inspect_index(struct inspection *in, bool renewed);
/* inspect_number_at: the number of the cache at this address; in->count: none. */
size_t inspect_number_at(const struct inspection *in, uint64_t address);
/* inspect_each_slab: call fn for each slab of the caches that are loaded. */
int inspect_each_slab(struct inspection *in,
		      void (*fn)(struct inspection *in, struct inspect_cache *cache,
				 const struct inspect_slab *slab, void *arg),
		      void *arg);
/* Copy from the process; 0 or -EFAULT. */
int inspect_read(const struct inspection *in, uint64_t address, size_t size, void *to);
int inspect_read_pieces(const struct inspection *in, uint64_t address, size_t size, size_t stride,
			size_t count, void *to);
/* inspect_read_sequence: a counter (base/seqcount.h), between barriers: of this process's
 * memory, neither what is read before it nor what is read after it is read at another time. */
int inspect_read_sequence(const struct inspection *in, uint64_t address, uint64_t *sequence);

/* --- counting (tally.c) ------------------------------------------------------------------ */

/* inspect_count: fill the statistics of all caches that are loaded: one scan. */
int inspect_count(struct inspection *in);
/* The debug flags of Z, P, U that stand for index 0 … INSPECT_LAYOUTS - 1. */
uint64_t inspect_layout_flags(unsigned index);

/* --- call sites (call_sites.c) ----------------------------------------------------------- */

/* As slab_cache_traces(), of all caches that are loaded. */
long inspect_traces(struct inspection *in, enum slab_traces kind, uint64_t since,
		    int (*fn)(const struct slab_call_site *site, void *arg), void *arg);

/* --- counters of the program (counters_read.c) ------------------------------------------- */

/* Of one cache: their descriptions, as copied, and the numbers. */
struct inspect_counters {
	unsigned count;
	struct counter_table table;
	uint64_t sum[SLAB_COUNTERS_MAX];
};

/* … of `cache`, a copy or, when the process looks at itself, the cache. `name`: only this
 * one, NULL: all. */
void inspect_counters(struct inspection *in, const struct slab_cache *cache, const char *name,
		      struct inspect_counters *seen);

#endif /* SLAB_INSPECT_PROCESS_H */
