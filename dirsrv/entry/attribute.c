/* SPDX-License-Identifier: MIT */
/* Attributes and their values. */
#include "internal.h"

#include <slab/malloc.h>

#include <errno.h>

/* --- bulk allocation and free of objects, for code that takes them one by one --------------- */

/* Take an object; NULL and ENOMEM if there is no memory. */
static void *supply_take(struct supply *supply)
{
	size_t n = supply->wanted;

	if (supply->count)
		return supply->object[--supply->count];
	if (n > BATCH)
		n = BATCH;
	supply->wanted -= n;
	supply->count = (unsigned)slab_alloc_bulk(supply->cache, SLAB_ALLOC_FULL, n ? n : 1,
						  supply->object);
	if (supply->count)
		return supply->object[--supply->count];
	errno = ENOMEM;
	return NULL;
}

/* Free the objects that were not taken. */
static void supply_end(struct supply *supply)
{
	slab_free_bulk(supply->cache, supply->count, supply->object);
	supply->count = 0;
}

static void returns_end(struct returns *returns)
{
	slab_free_bulk(returns->cache, returns->count, returns->object);
	returns->count = 0;
}

static void returns_add(struct returns *returns, void *object)
{
	if (returns->count == BATCH)
		returns_end(returns);
	returns->object[returns->count++] = object;
}

/* --- attributes ----------------------------------------------------------------------------- */

void source_begin(struct source *source, struct dirsrv_entry_pool *pool, size_t attributes,
		  size_t values)
{
	source->pool = pool;
	source->attributes.cache = pool->attributes;
	source->attributes.wanted = attributes;
	source->attributes.count = 0;
	source->values.cache = pool->values;
	source->values.wanted = values;
	source->values.count = 0;
}

void source_end(struct source *source)
{
	supply_end(&source->attributes);
	supply_end(&source->values);
}

/* --- making --------------------------------------------------------------------------- */

static const char *type_text(const struct dirsrv_attribute *attribute)
{
	return attribute->type_length < TYPE_INLINE ? attribute->type.small : attribute->type.text;
}

struct dirsrv_attribute *attribute_make(struct source *source, const char *type, size_t length)
{
	struct dirsrv_attribute *attribute;
	char *text;

	if (!length || length > DIRSRV_TYPE_MAX) {
		errno = EINVAL;
		return NULL;
	}
	attribute = supply_take(&source->attributes);
	if (!attribute)
		return NULL;
	text = attribute->type.small;
	if (length >= TYPE_INLINE)
		text = attribute->type.text = slab_malloc(length + 1);
	if (!text) {
		slab_free(source->attributes.cache, attribute);
		return NULL;
	}
	memcpy(text, type, length);
	text[length] = '\0';
	attribute->next = NULL;
	attribute->first = NULL;
	attribute->last = NULL;
	attribute->pool = source->pool;
	attribute->bytes = sizeof(*attribute) + (length < TYPE_INLINE ? 0 : length + 1);
	attribute->count = 0;
	attribute->type_length = (uint32_t)length;
	return attribute;
}

bool attribute_append(struct source *source, struct dirsrv_attribute *attribute, const void *data,
		      size_t length)
{
	struct dirsrv_value *value;
	char *to;

	if (length > DIRSRV_VALUE_MAX) {
		errno = EINVAL;
		return false;
	}
	value = supply_take(&source->values);
	if (!value)
		return false;
	to = value->at.small;
	if (length > VALUE_INLINE)
		to = value->at.data = slab_malloc(length);
	if (!to) {
		slab_free(source->values.cache, value);
		return false;
	}
	if (length)
		memcpy(to, data, length);
	value->next = NULL;
	value->length = (uint32_t)length;
	if (attribute->last)
		attribute->last->next = value;
	else
		attribute->first = value;
	attribute->last = value;
	attribute->count++;
	attribute->bytes += sizeof(*value) + (length > VALUE_INLINE ? length : 0);
	return true;
}

struct dirsrv_attribute *attribute_copy(struct source *source,
					const struct dirsrv_attribute *attribute)
{
	const struct dirsrv_attribute *next = attribute_load(&attribute->next);
	struct dirsrv_attribute *copy;

	/* Prefetch the next one while this one is copied. */
	if (next)
		__builtin_prefetch(value_data(next->first));
	copy = attribute_make(source, type_text(attribute), attribute->type_length);
	if (!copy)
		return NULL;
	for (const struct dirsrv_value *v = attribute->first; v; v = v->next)
		if (!attribute_append(source, copy, value_data(v), v->length)) {
			attributes_free(source->pool, copy);
			return NULL;
		}
	return copy;
}

/* --- freeing ---------------------------------------------------------------------------- */

static void values_free(struct returns *returns, struct dirsrv_value *value)
{
	struct dirsrv_value *next;

	for (; value; value = next) {
		next = value->next;
		if (value->length > VALUE_INLINE)
			slab_mfree(value->at.data);
		returns_add(returns, value);
	}
}

void attributes_free(struct dirsrv_entry_pool *pool, struct dirsrv_attribute *first)
{
	struct returns attributes, values;
	struct dirsrv_attribute *next;

	attributes.cache = pool->attributes;
	attributes.count = 0;
	values.cache = pool->values;
	values.count = 0;
	for (; first; first = next) {
		next = first->next;
		if (first->type_length >= TYPE_INLINE)
			slab_mfree(first->type.text);
		values_free(&values, first->first);
		returns_add(&attributes, first);
	}
	returns_end(&attributes);
	returns_end(&values);
}

static void bury(struct rcu_head *head)
{
	struct dirsrv_attribute *attribute = caa_container_of(head, struct dirsrv_attribute, dead);
	struct dirsrv_entry_pool *pool = attribute->pool;
	size_t bytes = attribute->bytes;

	attribute->next = NULL; /* the entry keeps the others */
	attributes_free(pool, attribute);
	__atomic_fetch_sub(&pool->pending, bytes, __ATOMIC_RELAXED);
}

void attribute_retire(struct dirsrv_attribute *attribute)
{
	struct dirsrv_entry_pool *pool = attribute->pool;

	__atomic_fetch_add(&pool->pending, attribute->bytes, __ATOMIC_RELAXED);
	pool->rcu->update_call_rcu(&attribute->dead, bury);
}

/* --- reading ----------------------------------------------------------------------------- */

const struct dirsrv_attribute *dirsrv_attribute_next(const struct dirsrv_attribute *attribute)
{
	return attribute_load(&attribute->next);
}

const char *dirsrv_attribute_type(const struct dirsrv_attribute *attribute, size_t *length)
{
	if (length)
		*length = attribute->type_length;
	return type_text(attribute);
}

size_t dirsrv_attribute_count(const struct dirsrv_attribute *attribute)
{
	return attribute->count;
}

const struct dirsrv_value *dirsrv_attribute_first(const struct dirsrv_attribute *attribute)
{
	return attribute->first;
}

const struct dirsrv_value *dirsrv_value_next(const struct dirsrv_value *value)
{
	return value->next;
}

struct dirsrv_bytes dirsrv_value_data(const struct dirsrv_value *value)
{
	struct dirsrv_bytes bytes = {.data = value_data(value), .length = value->length};

	return bytes;
}
