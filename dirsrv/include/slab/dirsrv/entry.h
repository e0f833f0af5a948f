/* SPDX-License-Identifier: MIT */
/*
 * Entries of a directory: a DN and attributes with values.
 *
 *	struct dirsrv_entry_pool *pool = dirsrv_entry_pool_create("userroot", NULL);
 *	struct dirsrv_entry *entry = dirsrv_entry_make(pool, dn, strlen(dn), pairs, n);
 *	…
 *	dirsrv_entry_put(entry);
 *	dirsrv_entry_pool_destroy(pool);
 *
 * Each kind of object has its own slab cache, which slabinfo shows: NAME.entry,
 * NAME.attribute, NAME.value and NAME.dn. Values up to 16 bytes are part of their objects;
 * longer ones, and the text of DNs, are allocated by size (<slab/malloc.h>).
 *
 * An entry is *private* to the thread that created or copied it, until it is added to an
 * entry cache (<slab/dirsrv/entry_cache.h>). Then it is *published*, and readers find it
 * without locks. References keep an entry; its creator has the first. Readers of a published
 * entry within an RCU read-side critical section ("section") can read everything that they
 * find there until they leave, whatever other threads change: the memory is freed after that.
 *
 * A reader of a published entry is in a section, or holds the entry's read lock. In a section
 * it sees each attribute with all values of one moment; two attributes may be of different
 * moments. With the read lock the whole entry is of one moment. A published attribute never
 * changes: a new one replaces it.
 *
 * Errors: NULL and errno, or -errno.
 *
 * Safety, in the words of <slab/slab.h>: MT-safe, unless a function says otherwise; threads that
 * use published entries are registered with the pool's flavour of liburcu (rcu_register_thread()).
 * Not async-signal-safe; fork-safe if the program calls the flavour's own hooks (<slab/rcu.h>).
 * Pools and entry caches can be used in the child; an entry that another thread had locked, or was
 * changing, stays locked there.
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

/* Bytes that belong to the caller. */
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
 * dirsrv_entry_pool_create: create the slab caches of entries.
 *
 * @name  prefix of their names: NAME.entry, …; 1 to SLAB_MAX_NAME - 10 characters
 * @rcu   the application's flavour of liburcu; NULL: urcu-memb
 *
 * Returns the pool, or NULL and errno: EINVAL: an invalid name; EEXIST: a cache of that name
 * exists; ENOMEM.
 */
SLAB_API struct dirsrv_entry_pool *dirsrv_entry_pool_create(const char *name,
							    const struct rcu_flavor_struct *rcu);

/*
 * dirsrv_entry_pool_destroy: free a pool. NULL is allowed. It waits for a grace period. No
 * other thread uses the pool any more.
 *
 * Returns 0, or -EBUSY, and the pool is unchanged: it has an entry cache, or objects of it
 * are still allocated, which libslab reports as slab_cache_destroy() does; or -EDEADLK: within
 * a section.
 */
SLAB_API int dirsrv_entry_pool_destroy(struct dirsrv_entry_pool *pool);

/* dirsrv_entry_pool_barrier: wait until all entries and attributes are freed whose last
 * reference was dropped before. Returns 0, or -EDEADLK within a section. */
SLAB_API int dirsrv_entry_pool_barrier(struct dirsrv_entry_pool *pool);

/* dirsrv_entry_pool_pending: bytes of entries and attributes that wait to be freed until
 * readers have left. */
SLAB_API size_t dirsrv_entry_pool_pending(const struct dirsrv_entry_pool *pool);

/* --- DNs ----------------------------------------------------------------------------- */

/*
 * dirsrv_dn_make: create a DN with its normalized form: lower case (ASCII), without the blanks
 * around types and values, and with escapes written in one way, also those in
 * hexadecimal: "cn=\2C" is "cn=\,", "cn=\41" is "cn=a". The first '=' of TYPE=VALUE
 * separates the two; a value may have others, and may be empty.
 * The function uses no schema: blanks within a value count as they are, also several
 * of them in a row; the parts of an RDN with '+' count in the order in which they are
 * written; quotes do not quote, ';' does not separate, and "#…" is text.
 *
 * Returns the DN, or NULL and errno: EINVAL: a part that is not TYPE=VALUE ("", "a,cn=b",
 * "cn=a,"), a type with a backslash, an escape without its end, a zero byte, or more than
 * DIRSRV_DN_MAX bytes; ENOMEM. A DN never changes; no thread may use it during or after
 * dirsrv_dn_free() of it.
 */
SLAB_API struct dirsrv_dn *dirsrv_dn_make(struct dirsrv_entry_pool *pool, const char *text,
					  size_t length);

/* dirsrv_dn_free: free a DN of dirsrv_dn_make(). NULL is allowed. */
SLAB_API void dirsrv_dn_free(struct dirsrv_entry_pool *pool, struct dirsrv_dn *dn);

/* The parts of a DN; valid as long as the DN. Texts end with a zero byte that
 * `*length`, which may be NULL, does not count.
 *   text         as it was written
 *   normalized   equal for all texts of the same DN
 *   name         the value of the first RDN, in lower case and without escapes
 *   hash         of the normalized form
 *   rdns         the number of RDNs */
SLAB_API const char *dirsrv_dn_text(const struct dirsrv_dn *dn, size_t *length);
SLAB_API const char *dirsrv_dn_normalized(const struct dirsrv_dn *dn, size_t *length);
SLAB_API const char *dirsrv_dn_name(const struct dirsrv_dn *dn, size_t *length);
SLAB_API uint64_t dirsrv_dn_hash(const struct dirsrv_dn *dn);
SLAB_API unsigned dirsrv_dn_rdns(const struct dirsrv_dn *dn);

/* dirsrv_dn_equal: whether both name the same entry. */
SLAB_API bool dirsrv_dn_equal(const struct dirsrv_dn *a, const struct dirsrv_dn *b);

/* --- creating, copying, references -------------------------------------------------------- */

/*
 * dirsrv_entry_make: create a private entry with one reference, the caller's. Pairs of the
 * same type (ignoring case) are values of one attribute; the order of both is kept. The
 * function copies all data, and allocates attributes and values in bulk. It compares each
 * pair with the types before it: its time grows with the square of the number of types.
 *
 * Returns the entry, or NULL and errno: EINVAL: an invalid DN, an empty type, or something too
 * long; ENOMEM, and nothing stays allocated.
 */
SLAB_API struct dirsrv_entry *dirsrv_entry_make(struct dirsrv_entry_pool *pool, const char *dn,
						size_t dn_length, const struct dirsrv_pair *pairs,
						size_t n);

/*
 * dirsrv_entry_copy: create a private copy, with one reference. The caller may read the
 * entry: it is in a section, or holds the read lock. Returns NULL and ENOMEM if there is no
 * memory.
 */
SLAB_API struct dirsrv_entry *dirsrv_entry_copy(const struct dirsrv_entry *entry);

/*
 * dirsrv_entry_get: take one more reference. The caller is in the section in which it found
 * the entry, or has a reference already. Returns false if the last reference was dropped, or
 * the entry is being moved at this moment; dirsrv_entry_cache_get() then tries again.
 */
SLAB_API bool dirsrv_entry_get(struct dirsrv_entry *entry);

/* dirsrv_entry_put: drop a reference. With the last one a private entry is freed at once, a
 * published one after the readers that may read it have left. NULL is allowed. */
SLAB_API void dirsrv_entry_put(struct dirsrv_entry *entry);

/* dirsrv_entry_references: the number of references at this moment, including the cache's. */
SLAB_API unsigned dirsrv_entry_references(const struct dirsrv_entry *entry);

/*
 * The lock of an entry, for readers that need all of it as of one moment. The caller has a
 * reference. Changes of the entry wait for the lock, so a thread that holds it must not
 * change the entry.
 */
SLAB_API void dirsrv_entry_read_lock(struct dirsrv_entry *entry);
SLAB_API void dirsrv_entry_read_unlock(struct dirsrv_entry *entry);

/* --- changing ------------------------------------------------------------------------------ */

/*
 * dirsrv_entry_replace: replace the values of the attribute of a type by n values; with n 0,
 * remove the attribute. A new attribute is added at the end. The caller has a reference, does
 * not hold the read lock, and is registered. For an entry in an entry cache, the cache
 * updates its bytes and evicts other entries as the limit requires.
 * When much memory waits for readers, the call waits for them, unless it is within a
 * section: so it must not be called with a lock held that readers take within sections.
 *
 * Returns 0, or -ENOMEM or -EINVAL (as dirsrv_entry_make()), and the entry is unchanged.
 */
SLAB_API int dirsrv_entry_replace(struct dirsrv_entry *entry, const char *type, size_t type_length,
				  const struct dirsrv_bytes *values, size_t n);

/* A number for the server's use: such as an entry id; 0 in a new entry; copied. */
SLAB_API uint64_t dirsrv_entry_id(const struct dirsrv_entry *entry);
SLAB_API void dirsrv_entry_set_id(struct dirsrv_entry *entry, uint64_t id);

/* --- reading ------------------------------------------------------------------------------- */

/* dirsrv_entry_dn: the DN of an entry, valid as long as the entry. */
SLAB_API const struct dirsrv_dn *dirsrv_entry_dn(const struct dirsrv_entry *entry);

/* dirsrv_entry_size: bytes of the entry with its attributes, values and DN, without the
 * allocator's metadata and rounding. */
SLAB_API size_t dirsrv_entry_size(const struct dirsrv_entry *entry);

/* dirsrv_entry_find: the attribute of a type, ignoring case; NULL: none. */
SLAB_API const struct dirsrv_attribute *dirsrv_entry_find(const struct dirsrv_entry *entry,
							  const char *type, size_t length);

/* The attributes of an entry one by one, NULL after the last. */
SLAB_API const struct dirsrv_attribute *dirsrv_entry_first(const struct dirsrv_entry *entry);
SLAB_API const struct dirsrv_attribute *dirsrv_attribute_next(
	const struct dirsrv_attribute *attribute);

/* The type as it was written first, with a zero byte after it (*length may be NULL); the
 * number of values, at least one; and the values one by one. */
SLAB_API const char *dirsrv_attribute_type(const struct dirsrv_attribute *attribute,
					   size_t *length);
SLAB_API size_t dirsrv_attribute_count(const struct dirsrv_attribute *attribute);
SLAB_API const struct dirsrv_value *dirsrv_attribute_first(
	const struct dirsrv_attribute *attribute);
SLAB_API const struct dirsrv_value *dirsrv_value_next(const struct dirsrv_value *value);

/* dirsrv_value_data: the bytes of a value, without a zero byte after them. */
SLAB_API struct dirsrv_bytes dirsrv_value_data(const struct dirsrv_value *value);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_DIRSRV_ENTRY_H */
