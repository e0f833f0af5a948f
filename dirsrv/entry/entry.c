/* SPDX-License-Identifier: MIT */
/* Entries: creating, copying, referencing, freeing, reading. */
#include "internal.h"

#include <errno.h>
#include <slab/memory.h>
#include <slab/rcu.h>

_Static_assert(sizeof(struct dirsrv_value) == 32, "a value");
_Static_assert(sizeof(struct dirsrv_attribute) == 96, "an attribute");
_Static_assert(sizeof(struct dirsrv_dn) == 48, "a DN");
_Static_assert(sizeof(struct dirsrv_entry) <= 216, "an entry");

int entry_construct(void *object, void *arg)
{
	struct dirsrv_entry *entry = object;

	memset(entry, 0, sizeof(*entry));
	entry->pool = arg;
	return pthread_rwlock_init(&entry->lock, NULL);
}

void entry_destruct(void *object, void *arg)
{
	struct dirsrv_entry *entry = object;

	(void)arg;
	pthread_rwlock_destroy(&entry->lock);
}

/* --- freeing ---------------------------------------------------------------------------- */

/* After the grace period: free the entry in its constructed state. */
static void entry_free(struct dirsrv_entry *entry)
{
	struct dirsrv_entry_pool *pool = entry->pool;

	attributes_free(pool, entry->first);
	dirsrv_dn_free(pool, entry->dn);
	slab_free(pool->entries, entry);
}

static void bury(struct rcu_head *head)
{
	struct dirsrv_entry *entry = caa_container_of(head, struct dirsrv_entry, dead);
	struct dirsrv_entry_pool *pool = entry->pool;
	size_t bytes = entry_bytes(entry);

	entry_free(entry);
	__atomic_fetch_sub(&pool->pending, bytes, __ATOMIC_RELAXED);
}

void entry_retire(struct dirsrv_entry *entry)
{
	struct dirsrv_entry_pool *pool = entry->pool;

	__atomic_fetch_add(&pool->pending, entry_bytes(entry), __ATOMIC_RELAXED);
	pool->rcu->update_call_rcu(&entry->dead, bury);
}

/* --- readers: waiting until they have left, and trimming memory after that ----------------- */

int dirsrv_entry_pool_barrier(struct dirsrv_entry_pool *pool)
{
	/* Also waits for the old copies of moved entries. */
	int error = slab_rcu_barrier(pool->entries);

	if (error)
		return error;
	/* A trim that was requested again waits for another grace period. */
	do
		pool->rcu->barrier();
	while (__atomic_load_n(&pool->trims, __ATOMIC_ACQUIRE));
	return 0;
}

size_t dirsrv_entry_pool_pending(const struct dirsrv_entry_pool *pool)
{
	return __atomic_load_n(&pool->pending, __ATOMIC_RELAXED);
}

bool pool_in_section(const struct dirsrv_entry_pool *pool)
{
	const struct rcu_flavor_struct *rcu = pool->rcu;
	bool reading;

	if (!rcu->read_ongoing())
		return false;
	rcu->thread_offline();
	reading = rcu->read_ongoing();
	rcu->thread_online();
	return reading;
}

void pool_wait_for_readers(struct dirsrv_entry_pool *pool, size_t most)
{
	if (dirsrv_entry_pool_pending(pool) > most && !pool->rcu->read_ongoing())
		pool->rcu->barrier();
}

/* If a thread has requested another trim in the meantime, the objects that it retired are freed
 * later, so this callback queues itself again. */
static void trim(struct rcu_head *head)
{
	struct dirsrv_entry_pool *pool = caa_container_of(head, struct dirsrv_entry_pool, trim);

	if (__atomic_exchange_n(&pool->trims, 0, __ATOMIC_ACQ_REL) > 1)
		pool_trim_later(pool);
	else
		slab_trim();
}

void pool_trim_later(struct dirsrv_entry_pool *pool)
{
	if (__atomic_fetch_add(&pool->trims, 1, __ATOMIC_ACQ_REL) == 0)
		pool->rcu->update_call_rcu(&pool->trim, trim);
}

/* --- holding ------------------------------------------------------------------------------ */

bool dirsrv_entry_get(struct dirsrv_entry *entry)
{
	uint32_t references = __atomic_load_n(&entry->references, __ATOMIC_RELAXED);

	while (references)
		if (__atomic_compare_exchange_n(&entry->references, &references, references + 1,
						true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return true;
	return false;
}

void dirsrv_entry_put(struct dirsrv_entry *entry)
{
	if (!entry || __atomic_fetch_sub(&entry->references, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	if (__atomic_load_n(&entry->published, __ATOMIC_RELAXED))
		entry_retire(entry);
	else
		entry_free(entry);
}

unsigned dirsrv_entry_references(const struct dirsrv_entry *entry)
{
	return __atomic_load_n(&entry->references, __ATOMIC_RELAXED);
}

void dirsrv_entry_read_lock(struct dirsrv_entry *entry)
{
	pthread_rwlock_rdlock(&entry->lock);
}

void dirsrv_entry_read_unlock(struct dirsrv_entry *entry)
{
	pthread_rwlock_unlock(&entry->lock);
}

/* --- making ------------------------------------------------------------------------------- */

/* Allocate an entry with this DN. Takes ownership of the DN, even if the allocation fails. */
static struct dirsrv_entry *entry_begin(struct dirsrv_entry_pool *pool, struct dirsrv_dn *dn)
{
	struct dirsrv_entry *entry = dn ? slab_alloc(pool->entries) : NULL;

	if (!entry) {
		dirsrv_dn_free(pool, dn);
		return NULL;
	}
	entry->dn = dn;
	entry->first = NULL;
	entry->uses = 0;
	entry->published = 0;
	entry->attributes = 0;
	entry->values = 0;
	entry->id = 0;
	entry->bytes = sizeof(*entry) + dn_bytes(dn);
	__atomic_store_n(&entry->references, 1, __ATOMIC_RELEASE);
	return entry;
}

/* Returns the entry, or frees all of it after a failure. */
static struct dirsrv_entry *entry_end(struct dirsrv_entry *entry, struct source *source, bool made)
{
	int error = errno;

	source_end(source);
	if (made) {
		for (const struct dirsrv_attribute *a = entry->first; a; a = a->next) {
			entry->attributes++;
			entry->values += a->count;
			entry->bytes += a->bytes;
		}
		return entry;
	}
	dirsrv_entry_put(entry);
	errno = error;
	return NULL;
}

static bool is_of_type(const struct dirsrv_attribute *attribute, const char *type, size_t length)
{
	return attribute->type_length == length &&
	       text_equal_folded(dirsrv_attribute_type(attribute, NULL), type, length);
}

struct dirsrv_attribute **entry_find_link(struct dirsrv_entry *entry, const char *type,
					  size_t length)
{
	struct dirsrv_attribute **link = &entry->first;

	while (*link && !is_of_type(*link, type, length))
		link = &(*link)->next;
	return link;
}

static bool add_pair(struct dirsrv_entry *entry, struct source *source,
		     const struct dirsrv_pair *pair)
{
	struct dirsrv_attribute **link = entry_find_link(entry, pair->type.data, pair->type.length);

	if (!*link)
		*link = attribute_make(source, pair->type.data, pair->type.length);
	return *link && attribute_append(source, *link, pair->value.data, pair->value.length);
}

struct dirsrv_entry *dirsrv_entry_make(struct dirsrv_entry_pool *pool, const char *dn,
				       size_t dn_length, const struct dirsrv_pair *pairs, size_t n)
{
	struct dirsrv_entry *entry = entry_begin(pool, dirsrv_dn_make(pool, dn, dn_length));
	struct source source;
	bool made = true;

	if (!entry)
		return NULL;
	source_begin(&source, pool, n, n);
	for (size_t i = 0; made && i < n; i++)
		made = add_pair(entry, &source, &pairs[i]);
	return entry_end(entry, &source, made);
}

struct dirsrv_entry *dirsrv_entry_copy(const struct dirsrv_entry *entry)
{
	struct dirsrv_entry_pool *pool = entry->pool;
	struct dirsrv_entry *copy = entry_begin(pool, dn_copy(pool, entry->dn));
	struct dirsrv_attribute **link;
	struct source source;
	bool made = true;

	if (!copy)
		return NULL;
	copy->id = dirsrv_entry_id(entry);
	source_begin(&source, pool, __atomic_load_n(&entry->attributes, __ATOMIC_RELAXED),
		     __atomic_load_n(&entry->values, __ATOMIC_RELAXED));
	link = &copy->first;
	for (const struct dirsrv_attribute *a = dirsrv_entry_first(entry); made && a;
	     a = dirsrv_attribute_next(a)) {
		*link = attribute_copy(&source, a);
		made = *link != NULL;
		if (made)
			link = &(*link)->next;
	}
	return entry_end(copy, &source, made);
}

/* --- numbers --------------------------------------------------------------------------- */

uint64_t dirsrv_entry_id(const struct dirsrv_entry *entry)
{
	return __atomic_load_n(&entry->id, __ATOMIC_RELAXED);
}

void dirsrv_entry_set_id(struct dirsrv_entry *entry, uint64_t id)
{
	__atomic_store_n(&entry->id, id, __ATOMIC_RELAXED);
}

/* --- reading --------------------------------------------------------------------------------- */

const struct dirsrv_dn *dirsrv_entry_dn(const struct dirsrv_entry *entry)
{
	return entry->dn;
}

size_t dirsrv_entry_size(const struct dirsrv_entry *entry)
{
	return entry_bytes(entry);
}

const struct dirsrv_attribute *dirsrv_entry_first(const struct dirsrv_entry *entry)
{
	return attribute_load(&entry->first);
}

const struct dirsrv_attribute *dirsrv_entry_find(const struct dirsrv_entry *entry, const char *type,
						 size_t length)
{
	const struct dirsrv_attribute *attribute = dirsrv_entry_first(entry);

	while (attribute && !is_of_type(attribute, type, length))
		attribute = dirsrv_attribute_next(attribute);
	return attribute;
}
