/* SPDX-License-Identifier: MIT */
/* The rows of entries; sets of ids. */
#include "store/store.h"

#include "base/bytes.h"
#include "base/memory.h"

#include <slab/malloc.h>

uint64_t *ids_reserve(struct ids *ids, size_t more)
{
	uint64_t *grown = ids->failed ? NULL
				      : array_grow(ids->id, &ids->capacity, ids->count + more,
						   sizeof(*grown));

	if (!grown) {
		ids->failed = true;
		return NULL;
	}
	ids->id = grown;
	return grown + ids->count;
}

void ids_append(struct ids *ids, uint64_t id)
{
	uint64_t *to = ids_reserve(ids, 1);

	if (!to)
		return;
	*to = id;
	ids->count++;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static bool in_order(const struct ids *ids)
{
	for (size_t i = 1; i < ids->count; i++)
		if (ids->id[i - 1] >= ids->id[i])
			return false;
	return true;
}

void ids_sort(struct ids *ids)
{
	size_t used = 0;

	if (in_order(ids))
		return;
	qsort(ids->id, ids->count, sizeof(*ids->id), compare);
	for (size_t i = 0; i < ids->count; i++)
		if (!used || ids->id[used - 1] != ids->id[i])
			ids->id[used++] = ids->id[i];
	ids->count = used;
}

size_t ids_after(const struct ids *ids, uint64_t id)
{
	size_t low = 0, high = ids->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ids->id[middle] <= id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void ids_intersect(struct ids *ids, const struct ids *other)
{
	size_t used = 0, at = 0;

	/* The shorter set may be much shorter: search instead of stepping. */
	for (size_t i = 0; i < ids->count && at < other->count; i++) {
		if (other->count / 8 > ids->count) {
			at = ids_after(other, ids->id[i]);
			at -= at && other->id[at - 1] == ids->id[i];
		}
		while (at < other->count && other->id[at] < ids->id[i])
			at++;
		if (at < other->count && other->id[at] == ids->id[i])
			ids->id[used++] = ids->id[i];
	}
	ids->count = used;
	ids->failed |= other->failed;
}

void ids_unite(struct ids *ids, const struct ids *other)
{
	uint64_t *to = other->count ? ids_reserve(ids, other->count) : NULL;

	ids->failed |= other->failed;
	if (!to)
		return;
	memcpy(to, other->id, other->count * sizeof(*to));
	ids->count += other->count;
	ids_sort(ids);
}

void ids_free(struct ids *ids)
{
	slab_mfree(ids->id);
	memset(ids, 0, sizeof(*ids));
}

/* --- rows: a header, two texts, then for each type its values ------------------------------- */

struct header {
	uint64_t parent;
	uint32_t dn; /* lengths */
	uint32_t normal;
	uint32_t attributes;
	uint32_t pairs;
};

/* Before each type. Before each value stands its length in 32 bits. */
struct attribute {
	uint32_t values;
	uint32_t type; /* length */
};

/* Bytes that are being read. */
struct reading {
	const char *at;
	size_t left;
};

static const char *take(struct reading *r, size_t length)
{
	const char *at = r->at;

	if (r->left < length)
		return NULL;
	r->at += length;
	r->left -= length;
	return at;
}

static bool take_copy(struct reading *r, void *to, size_t length)
{
	const char *from = take(r, length);

	if (from)
		memcpy(to, from, length);
	return from != NULL;
}

static bool take_bytes(struct reading *r, size_t length, struct dirsrv_bytes *bytes)
{
	bytes->data = take(r, length);
	bytes->length = length;
	return bytes->data != NULL;
}

bool row_read(struct dirsrv_bytes data, struct row *row)
{
	struct reading r = {.at = data.data, .left = data.length};
	struct header header;

	if (!take_copy(&r, &header, sizeof(header)))
		return false;
	row->parent = header.parent;
	row->pairs = header.pairs;
	return take_bytes(&r, header.dn, &row->dn) && take_bytes(&r, header.normal, &row->normal) &&
	       take_bytes(&r, header.attributes, &row->attributes) && !r.left;
}

static struct dirsrv_pair *reserve_pairs(struct pairs *pairs, size_t more)
{
	struct dirsrv_pair *grown = pairs->failed ? NULL
						  : array_grow(pairs->pair, &pairs->capacity,
							       pairs->count + more, sizeof(*grown));

	if (!grown) {
		pairs->failed = true;
		return NULL;
	}
	pairs->pair = grown;
	return grown + pairs->count;
}

static bool read_attribute(struct reading *r, struct pairs *pairs)
{
	struct attribute attribute;
	struct dirsrv_pair pair;
	uint32_t length;

	if (!take_copy(r, &attribute, sizeof(attribute)) ||
	    !take_bytes(r, attribute.type, &pair.type))
		return false;
	for (; attribute.values; attribute.values--) {
		if (!take_copy(r, &length, sizeof(length)) || !take_bytes(r, length, &pair.value) ||
		    pairs->count == pairs->capacity)
			return false;
		pairs->pair[pairs->count++] = pair;
	}
	return true;
}

bool row_pairs(const struct row *row, struct pairs *pairs)
{
	struct reading r = {.at = row->attributes.data, .left = row->attributes.length};

	/* A value takes at least the four bytes of its length. */
	if (row->pairs > row->attributes.length / 4 || !reserve_pairs(pairs, row->pairs))
		return false;
	while (r.left)
		if (!read_attribute(&r, pairs))
			return false;
	return true;
}

static void write_attribute(const struct dirsrv_pair *pairs, size_t n, struct buffer *out)
{
	struct attribute attribute = {.values = (uint32_t)n, .type = (uint32_t)pairs->type.length};

	buffer_append(out, &attribute, sizeof(attribute));
	buffer_append(out, pairs->type.data, pairs->type.length);
	for (size_t i = 0; i < n; i++) {
		uint32_t length = (uint32_t)pairs[i].value.length;

		buffer_append(out, &length, sizeof(length));
		buffer_append(out, pairs[i].value.data, length);
	}
}

void row_write(const struct row *row, const struct dirsrv_pair *pairs, size_t n, struct buffer *out)
{
	struct header header = {.parent = row->parent,
				.dn = (uint32_t)row->dn.length,
				.normal = (uint32_t)row->normal.length,
				.pairs = (uint32_t)n};
	size_t start = out->length, from;

	buffer_append(out, &header, sizeof(header));
	buffer_append(out, row->dn.data, row->dn.length);
	buffer_append(out, row->normal.data, row->normal.length);
	from = out->length;
	for (size_t i = 0, end; i < n; i = end) {
		end = i + 1;
		while (end < n && bytes_equal_folded(pairs[i].type, pairs[end].type))
			end++;
		write_attribute(pairs + i, end - i, out);
	}
	header.attributes = (uint32_t)(out->length - from);
	if (!out->failed)
		memcpy(out->data + start, &header, sizeof(header));
}

void pairs_insert(struct pairs *pairs, size_t at, struct dirsrv_bytes type,
		  struct dirsrv_bytes value)
{
	if (!reserve_pairs(pairs, 1))
		return;
	memmove(pairs->pair + at + 1, pairs->pair + at, (pairs->count - at) * sizeof(*pairs->pair));
	pairs->pair[at].type = type;
	pairs->pair[at].value = value;
	pairs->count++;
}

void pairs_remove(struct pairs *pairs, size_t at, size_t n)
{
	pairs->count -= n;
	memmove(pairs->pair + at, pairs->pair + at + n, (pairs->count - at) * sizeof(*pairs->pair));
}

void pairs_free(struct pairs *pairs)
{
	slab_mfree(pairs->pair);
	memset(pairs, 0, sizeof(*pairs));
}
