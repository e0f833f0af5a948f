/* SPDX-License-Identifier: MIT */
/*
 * The objects of an entry: attributes, values, DN, and the pool that they come from.
 *
 * An entry has these states: free, as constructed (references 0, cache NULL) · private (references
 * > 0) · published (in the table of a cache, which has a reference) · removed from the table ·
 * waiting for a grace period (no references) · free. Readers in read-side critical sections follow
 * `dn`, `first`, and the attributes' `next`. The last two may change, by stores with release.
 *
 * Moving takes the last reference away, as eviction does. The old entry keeps all its pointers for
 * its readers until libslab has waited for a grace period.
 */
#pragma once

#include <slab/dirsrv/entry.h>

#include <pthread.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <urcu/call-rcu.h>
#include <urcu/flavor.h>

#include <urcu/rculfhash.h>

#define VALUE_INLINE 16
#define TYPE_INLINE 32

/* The most objects that are allocated or freed in one step. */
#define BATCH 32u

/* One value; it never changes while another thread sees it. */
struct dirsrv_value {
	struct dirsrv_value *next;
	union {
		char *data; /* longer than VALUE_INLINE */
		char small[VALUE_INLINE];
	} at;
	uint32_t length;
};

/* Once an attribute is published, only `next` changes, under the entry's lock. */
struct dirsrv_attribute {
	struct dirsrv_attribute *next; /* stored with release */
	struct dirsrv_value *first;
	struct dirsrv_value *last;
	struct dirsrv_entry_pool *pool;
	struct rcu_head dead;
	size_t bytes; /* of the entry with all its parts */
	uint32_t count;
	uint32_t type_length;
	union {
		char *text; /* TYPE_INLINE or longer */
		char small[TYPE_INLINE];
	} type;
};

/* All three texts are in one block of memory, to which `text` points. */
struct dirsrv_dn {
	char *text;
	char *normalized; /* is `text` when they are the same */
	char *name;
	uint64_t hash;
	uint32_t length;
	uint32_t normalized_length;
	uint32_t name_length;
	uint32_t rdns;
};

/* The link of an entry in a queue of its cache. */
struct link {
	struct link *next;
	struct link *prev;
};

struct dirsrv_entry {
	/* The fields that readers of a published entry use. */
	struct cds_lfht_node by_dn;
	struct dirsrv_dn *dn;
	struct dirsrv_attribute *first; /* stored with release */
	struct dirsrv_entry_pool *pool;
	uint8_t uses;      /* lookups since it came into its queue, at most USES_MAX; atomic */
	uint8_t published; /* atomic; readers load it before they use the entry */
	struct cds_lfht_node by_name;

	uint32_t references; /* atomic */
	uint32_t attributes; /* this and `values`: written under the lock, read without it */
	uint32_t values;
	uint64_t id;  /* atomic */
	size_t bytes; /* written under the lock, read without it */
	/* The next four are under the pool's mutex. */
	struct dirsrv_entry_cache *cache; /* NULL: the entry is in no cache */
	size_t charged;                   /* bytes that the cache counts for it */
	struct queue *queue;
	struct link link;
	union {
		struct rcu_head dead;      /* for an entry without references */
		struct dirsrv_entry *next_held; /* in the list that destruction reports */
	};
	pthread_rwlock_t lock; /* constructed; protects the attributes from other writers */
};

struct dirsrv_entry_pool {
	struct slab_cache *entries;
	struct slab_cache *attributes;
	struct slab_cache *values;
	struct slab_cache *dns;
	const struct rcu_flavor_struct *rcu;
	size_t pending; /* atomic: bytes that wait for readers */
	/* Protects the cache, and the members of entries for which that is said. It belongs to the
	 * pool, since libslab's callbacks may look for a cache that is being destroyed. */
	pthread_mutex_t lock;
	struct dirsrv_entry_cache *cache; /* NULL: none */
	struct dirsrv_entry_pool *next; /* in the list of all pools */
	struct rcu_head trim; /* queued while trims is not 0 */
	uint32_t trims; /* atomic: the number of requests to trim */
};

/* When more bytes than this wait for readers, a thread that adds to them waits, too. */
#define PENDING_MAX ((size_t)16 << 20)

/* --- entry.c: readers ----------------------------------------------------------------------- */

/* Is the thread within a read-side critical section? For functions that must not be called
 * there. In qsbr every online thread seems to be within one, so this function takes the
 * thread offline for the check: the thread loses the entries that it had found. */
bool pool_in_section(const struct dirsrv_entry_pool *pool);

/* If more than `most` bytes wait for readers, wait for the readers. Does nothing within a
 * read-side critical section, nor in QSBR while the thread is online: it may still use entries
 * that it found. */
void pool_wait_for_readers(struct dirsrv_entry_pool *pool, size_t most);

/* Trim memory (slab_trim()) as soon as the objects that this thread has retired so far are
 * free. */
void pool_trim_later(struct dirsrv_entry_pool *pool);

/* --- batch.c: objects in bulk --------------------------------------------------------- */

/* Objects allocated in advance. The caller sets the first two members; the others start as 0. */
struct supply {
	struct slab_cache *cache;
	size_t wanted; /* an estimate of how many objects are still needed */
	unsigned count;
	void *object[BATCH];
};

/* Objects to free in bulk. */
struct returns {
	struct slab_cache *cache;
	unsigned count;
	void *object[BATCH];
};

/* --- dn.c ---------------------------------------------------------------------------- */

struct dirsrv_dn *dn_copy(struct dirsrv_entry_pool *pool, const struct dirsrv_dn *dn);
size_t dn_bytes(const struct dirsrv_dn *dn);

/* --- attribute.c: attributes with values ----------------------------------------------- */

static inline const char *value_data(const struct dirsrv_value *value)
{
	return value->length > VALUE_INLINE ? value->at.data : value->at.small;
}

/* The source of the objects of an entry or an attribute. */
struct source {
	struct dirsrv_entry_pool *pool;
	struct supply attributes;
	struct supply values;
};

void source_begin(struct source *source, struct dirsrv_entry_pool *pool, size_t attributes,
		  size_t values);
void source_end(struct source *source);

/* On failure, these return NULL or false, and set ENOMEM or EINVAL. */
struct dirsrv_attribute *attribute_make(struct source *source, const char *type, size_t length);
bool attribute_append(struct source *source, struct dirsrv_attribute *attribute, const void *data,
		      size_t length);
struct dirsrv_attribute *attribute_copy(struct source *source,
					const struct dirsrv_attribute *attribute);

/* Free a chain of attributes; no reader has it any more. */
void attributes_free(struct dirsrv_entry_pool *pool, struct dirsrv_attribute *first);

/* Free one attribute when readers have left. */
void attribute_retire(struct dirsrv_attribute *attribute);

static inline struct dirsrv_attribute *attribute_load(struct dirsrv_attribute *const *link)
{
	return __atomic_load_n(link, __ATOMIC_ACQUIRE);
}

/* --- entry.c ------------------------------------------------------------------------------ */

int entry_construct(void *object, void *arg);
void entry_destruct(void *object, void *arg);

/* The pointer that leads to the attribute of that type, or the pointer at the end of the list. Only
 * the thread that may change the entry calls this. */
struct dirsrv_attribute **entry_find_link(struct dirsrv_entry *entry, const char *type,
					  size_t length);

/* Free an entry without references when readers have left. */
void entry_retire(struct dirsrv_entry *entry);

static inline size_t entry_bytes(const struct dirsrv_entry *entry)
{
	return __atomic_load_n(&entry->bytes, __ATOMIC_RELAXED);
}

/* --- entry cache ------------------------------------------------------------------------------ */

/* Callbacks of the pool's cache of entries. */
size_t cache_reclaim(struct slab_cache *cache, void *arg);
int cache_isolate(void *object, void *arg);
int cache_migrate(void *from, void *to, void *arg);

/* --- text ----------------------------------------------------------------------------------- */

/* Hashes of bytes, and folding of ASCII case. Types and DNs are compared with ASCII case folded. */
static inline char text_fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static inline bool text_equal_folded(const char *a, const char *b, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (text_fold(a[i]) != text_fold(b[i]))
			return false;
	return true;
}

/* The golden ratio in 64 bits. */
#define TEXT_HASH_ODD UINT64_C(0x9e3779b97f4a7c15)

/* A hash that reads eight bytes at a time. */
static inline uint64_t text_hash(const char *bytes, size_t length)
{
	uint64_t hash = length * TEXT_HASH_ODD, word;

	for (; length >= 8; length -= 8, bytes += 8) {
		memcpy(&word, bytes, 8);
		hash = (hash ^ word) * TEXT_HASH_ODD;
		hash ^= hash >> 29;
	}
	if (length) {
		word = 0;
		memcpy(&word, bytes, length);
		hash = (hash ^ word) * TEXT_HASH_ODD;
	}
	return hash ^ hash >> 32;
}

/* A hash that ignores ASCII case, for short texts. */
static inline uint64_t text_hash_folded(const char *text, size_t length)
{
	uint64_t hash = length;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text_fold(text[i])) * TEXT_HASH_ODD;
	return hash ^ hash >> 32;
}
