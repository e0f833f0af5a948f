/* SPDX-License-Identifier: MIT */
/* Changing an entry: replacing an attribute, and the entry's bytes in the cache. */
#include "internal.h"

#include <errno.h>

/* Create the new attribute; *ret_made is NULL if there are no values. */
static int make_change(struct dirsrv_entry_pool *pool, const char *type, size_t type_length,
		       const struct dirsrv_bytes *values, size_t n,
		       struct dirsrv_attribute **ret_made)
{
	struct source source;
	bool made;
	int error;

	*ret_made = NULL;
	if (!n)
		return type_length ? 0 : -EINVAL;
	source_begin(&source, pool, 1, n);
	*ret_made = attribute_make(&source, type, type_length);
	made = *ret_made != NULL;
	for (size_t i = 0; made && i < n; i++)
		made = attribute_append(&source, *ret_made, values[i].data, values[i].length);
	error = made ? 0 : -errno;
	source_end(&source);
	if (error)
		attributes_free(pool, *ret_made);
	return error;
}

/* Replace the attribute in one store for readers. Returns the old one. */
static struct dirsrv_attribute *exchange(struct dirsrv_entry *entry, struct dirsrv_attribute **link,
					 struct dirsrv_attribute *made)
{
	struct dirsrv_attribute *old = *link, *next = old ? old->next : NULL;
	size_t bytes = entry->bytes;

	if (made)
		made->next = next;
	__atomic_store_n(link, made ? made : next, __ATOMIC_RELEASE);
	bytes += (made ? made->bytes : 0) - (old ? old->bytes : 0);
	__atomic_store_n(&entry->bytes, bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->attributes, entry->attributes + !!made - !!old, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->values,
			 entry->values + (made ? made->count : 0) - (old ? old->count : 0),
			 __ATOMIC_RELAXED);
	return old;
}

int dirsrv_entry_replace(struct dirsrv_entry *entry, const char *type, size_t type_length,
			 const struct dirsrv_bytes *values, size_t n)
{
	struct dirsrv_attribute *made, *old;
	int error = make_change(entry->pool, type, type_length, values, n, &made);

	if (error)
		return error;
	pthread_rwlock_wrlock(&entry->lock);
	old = exchange(entry, entry_find_link(entry, type, type_length), made);
	pthread_rwlock_unlock(&entry->lock);
	cache_recharge(entry);
	if (old)
		attribute_retire(old);
	pool_wait_for_readers(entry->pool, PENDING_MAX);
	return 0;
}
