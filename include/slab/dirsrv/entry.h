/* SPDX-License-Identifier: MIT */
/*
 * Entries of a directory: a DN and attributes with values.
 *
 *   struct dirsrv_entry_pool *pool = dirsrv_entry_pool_create("userroot", NULL);
 *   struct dirsrv_entry *entry = dirsrv_entry_make(pool, dn, strlen(dn), pairs, n);
 *   …
 *   dirsrv_entry_put(entry);
 *   dirsrv_entry_pool_destroy(pool);
 *
 * Each kind of object has a cache of its own, which slabinfo shows: NAME.entry,
 * NAME.attribute, NAME.value and NAME.dn. Values up to 16 bytes stand in their objects;
 * longer ones, and the text of DNs, in memory by size (<slab/malloc.h>).
 *
 * An entry is *private* to who made or copied it, until it is put into an entry cache
 * (<slab/dirsrv/entry_cache.h>): from then on it is *published*, and readers find it
 * without locks. What holds an entry are references; who made it has the first. Of a
 * published entry, readers within an RCU read-side critical section ("section") can
 * look at everything that they find there until they leave, whatever others do meanwhile:
 * it is freed after them.
 *
 * Whoever reads a published entry is in a section, or holds its read lock. In a section it
 * sees each attribute with all values of one moment; two attributes may be of different
 * moments. With the read lock all of the entry is of one moment. An attribute, once it is
 * published, never changes: another takes its place.
 *
 * Errors: NULL and errno, or -errno. Threads: every function may be called by any thread
 * at any time, unless it says otherwise; threads that touch published entries are
 * registered with the pool's flavour of liburcu (rcu_register_thread()). Signals: not
 * async-signal-safe. Fork: call the flavour's own hooks (<slab/rcu.h>). Pools and entry
 * caches can be used in the child; an entry that another thread had locked, or was changing,
 * stays locked there.
 */
#ifndef SLAB_DIRSRV_ENTRY_H
#define SLAB_DIRSRV_ENTRY_H

#include <stdbool.h>

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dirsrv_entry_pool;
struct dirsrv_entry;
struct dirsrv_attribute;
struct dirsrv_value;
struct dirsrv_dn;

/* The longest value, DN and attribute type, in bytes. */
#define DIRSRV_VALUE_MAX ((size_t)1536 << 10)
#define DIRSRV_DN_MAX ((size_t)65535)
#define DIRSRV_TYPE_MAX ((size_t)65535)

/* Bytes of the caller's. */
struct dirsrv_bytes {
	const void *data;
	size_t length;
};

/* An attribute's type and one of its values. */
struct dirsrv_pair {
	struct dirsrv_bytes type;
	struct dirsrv_bytes value;
};

/* --- pools ------------------------------------------------------------------------- */

/*
 * dirsrv_entry_pool_create: the caches that entries come from.
 *
 * @name  how their names begin: NAME.entry, …; 1 to SLAB_MAX_NAME - 10 characters.
 * @rcu   the application's flavour of liburcu; NULL: urcu-memb.
 *
 * NULL and errno: EINVAL: a bad name; EEXIST: there is such a cache; ENOMEM.
 */
SLAB_API struct dirsrv_entry_pool *dirsrv_entry_pool_create(const char *name,
							    const struct rcu_flavor_struct *rcu);

/*
 * dirsrv_entry_pool_destroy: free a pool; NULL is allowed. It waits for a grace period.
 *
 * 0, or -EBUSY and the pool is as it was: there is an entry cache over it, or objects of
 * it are still allocated, which libslab reports as slab_cache_destroy() does. -EDEADLK
 * within a section. Nobody else uses the pool any more.
 */
SLAB_API int dirsrv_entry_pool_destroy(struct dirsrv_entry_pool *pool);

/* dirsrv_entry_pool_barrier: wait until all entries and attributes are free that had no
 * user any more before. 0, or -EDEADLK within a section. */
SLAB_API int dirsrv_entry_pool_barrier(struct dirsrv_entry_pool *pool);

/* dirsrv_entry_pool_pending: bytes of entries and attributes that wait to be freed until
 * readers have left. */
SLAB_API size_t dirsrv_entry_pool_pending(const struct dirsrv_entry_pool *pool);

/* --- DNs ----------------------------------------------------------------------------- */

/*
 * dirsrv_dn_make: a DN, with its normalised form: lower case (ASCII), without the blanks
 * around types and values, and with escapes written in one way, also those in
 * hexadecimal: "cn=\2C" is "cn=\,", "cn=\41" is "cn=a". The first '=' of TYPE=VALUE
 * separates the two; a value may have others, and may be empty.
 * It does not know of schemas: blanks within a value count as they are, also with several
 * of them in a row; the parts of an RDN with '+' count in the order in which they are
 * written; quotes do not quote, ';' does not separate, and "#…" is text.
 *
 * NULL and errno: EINVAL: a part that is not TYPE=VALUE ("", "a,cn=b", "cn=a,"), a type with
 * a backslash, an escape without its end, a zero byte, or more than DIRSRV_DN_MAX bytes;
 * ENOMEM. Not thread-safe towards dirsrv_dn_free() of it, else a DN never changes.
 */
SLAB_API struct dirsrv_dn *dirsrv_dn_make(struct dirsrv_entry_pool *pool, const char *text,
					  size_t length);

/* dirsrv_dn_free: free a DN of dirsrv_dn_make(). NULL is allowed. */
SLAB_API void dirsrv_dn_free(struct dirsrv_entry_pool *pool, struct dirsrv_dn *dn);

/* What a DN consists of; valid as long as the DN. Texts end with a zero byte that
 * *length, which may be NULL, does not count.
 *   text         as it was written
 *   normalized   what two texts of the same DN have in common
 *   name         the value of the first RDN, in lower case and without escapes
 *   hash         of the normalised form
 *   rdns         how many RDNs it has */
SLAB_API const char *dirsrv_dn_text(const struct dirsrv_dn *dn, size_t *length);
SLAB_API const char *dirsrv_dn_normalized(const struct dirsrv_dn *dn, size_t *length);
SLAB_API const char *dirsrv_dn_name(const struct dirsrv_dn *dn, size_t *length);
SLAB_API uint64_t dirsrv_dn_hash(const struct dirsrv_dn *dn);
SLAB_API unsigned dirsrv_dn_rdns(const struct dirsrv_dn *dn);

/* dirsrv_dn_equal: whether both name the same entry. */
SLAB_API bool dirsrv_dn_equal(const struct dirsrv_dn *a, const struct dirsrv_dn *b);

/* --- making, copying, holding ------------------------------------------------------------ */

/*
 * dirsrv_entry_make: a private entry with one reference, the caller's. Pairs of the same
 * type (in whatever case) are values of one attribute; the order of both is kept. All is
 * copied. Attributes and values are allocated in bulk. Each pair is compared with the types
 * before it: time grows with the square of how many types there are.
 *
 * NULL and errno: EINVAL: a bad DN, an empty type, something too long; ENOMEM, and
 * nothing is left allocated.
 */
SLAB_API struct dirsrv_entry *dirsrv_entry_make(struct dirsrv_entry_pool *pool, const char *dn,
						size_t dn_length, const struct dirsrv_pair *pairs,
						size_t n);

/*
 * dirsrv_entry_copy: a private copy, with one reference. The caller reads the entry as
 * said above: in a section, or with the read lock. NULL and ENOMEM.
 */
SLAB_API struct dirsrv_entry *dirsrv_entry_copy(const struct dirsrv_entry *entry);

/*
 * dirsrv_entry_get: one more reference; the caller is in the section in which he found
 * the entry, or has a reference already. false: the last one is gone, or the entry is
 * being moved at this moment; dirsrv_entry_cache_get() looks again then.
 */
SLAB_API bool dirsrv_entry_get(struct dirsrv_entry *entry);

/* dirsrv_entry_put: one reference less. With the last one a private entry is freed at
 * once, a published one after the readers that may look at it. NULL is allowed. */
SLAB_API void dirsrv_entry_put(struct dirsrv_entry *entry);

/* dirsrv_entry_references: how many there are at this moment, the cache's included. */
SLAB_API unsigned dirsrv_entry_references(const struct dirsrv_entry *entry);

/*
 * The lock of an entry, for readers that want to see it as it is at one moment. The
 * caller has a reference. Changes of the entry wait meanwhile, so who holds the lock must
 * not change the entry.
 */
SLAB_API void dirsrv_entry_read_lock(struct dirsrv_entry *entry);
SLAB_API void dirsrv_entry_read_unlock(struct dirsrv_entry *entry);

/* --- changing ------------------------------------------------------------------------------ */

/*
 * dirsrv_entry_replace: the attribute of that type has these n values from now on,
 * instead of those that it had; none: it is gone. An attribute that is not there is added
 * at the end. The caller has a reference, does not hold the read lock, and is registered.
 * In an entry cache its bytes are counted anew, and others are evicted for it.
 * When much memory waits for readers, it waits for them, too, unless it is called within a
 * section: so it must not be called with a lock held that readers take within sections.
 *
 * 0, or -ENOMEM or -EINVAL (as dirsrv_entry_make()), and the entry is as it was.
 */
SLAB_API int dirsrv_entry_replace(struct dirsrv_entry *entry, const char *type, size_t type_length,
				  const struct dirsrv_bytes *values, size_t n);

/* A number of the server's own, such as an entry id; 0 in a new entry; copied. */
SLAB_API uint64_t dirsrv_entry_id(const struct dirsrv_entry *entry);
SLAB_API void dirsrv_entry_set_id(struct dirsrv_entry *entry, uint64_t id);

/* --- reading ------------------------------------------------------------------------------- */

/* dirsrv_entry_dn: its DN, valid as long as the entry. */
SLAB_API const struct dirsrv_dn *dirsrv_entry_dn(const struct dirsrv_entry *entry);

/* dirsrv_entry_size: bytes of the entry, with all that belongs to it; what the allocator
 * needs beside that, and its rounding up, is not counted. */
SLAB_API size_t dirsrv_entry_size(const struct dirsrv_entry *entry);

/* dirsrv_entry_find: the attribute of that type, in whatever case; NULL: none. */
SLAB_API const struct dirsrv_attribute *dirsrv_entry_find(const struct dirsrv_entry *entry,
							  const char *type, size_t length);

/* The attributes of an entry one by one, NULL behind the last. */
SLAB_API const struct dirsrv_attribute *dirsrv_entry_first(const struct dirsrv_entry *entry);
SLAB_API const struct dirsrv_attribute *dirsrv_attribute_next(
	const struct dirsrv_attribute *attribute);

/* The type as it was written first, with a zero byte behind it; *length may be NULL. How
 * many values there are, at least one; and these one by one. */
SLAB_API const char *dirsrv_attribute_type(const struct dirsrv_attribute *attribute,
					   size_t *length);
SLAB_API size_t dirsrv_attribute_count(const struct dirsrv_attribute *attribute);
SLAB_API const struct dirsrv_value *dirsrv_attribute_first(
	const struct dirsrv_attribute *attribute);
SLAB_API const struct dirsrv_value *dirsrv_value_next(const struct dirsrv_value *value);

/* dirsrv_value_data: the bytes of a value, with no zero byte behind them. */
SLAB_API struct dirsrv_bytes dirsrv_value_data(const struct dirsrv_value *value);

/* dirsrv_attribute_has: whether one of the values consists of these bytes. */
SLAB_API bool dirsrv_attribute_has(const struct dirsrv_attribute *attribute, const void *data,
				   size_t length);

/* dirsrv_entry_equal: the same DN, and the same attributes with the same values, in
 * whatever order. The caller may read both. Each value is looked for among all values of
 * its type: time grows with the square of how many these are. */
SLAB_API bool dirsrv_entry_equal(const struct dirsrv_entry *a, const struct dirsrv_entry *b);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_DIRSRV_ENTRY_H */
