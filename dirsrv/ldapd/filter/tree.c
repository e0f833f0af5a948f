/* SPDX-License-Identifier: MIT */
/* Filters before their evaluation: nodes, types looked up, asserted values normalized once. */
#include "filter/filter.h"

#include "base/bytes.h"
#include "base/memory.h"
#include "schema/schema.h"

#include <slab/malloc.h>

/* --- nodes ---------------------------------------------------------------------------------- */

static struct slab_cache *nodes, *parts;

int filter_start(void)
{
	nodes = slab_cache_create("ldapd.filter", sizeof(struct filter), NULL, SLAB_ZERO);
	parts = slab_cache_create("ldapd.filter_part", sizeof(struct filter_part), NULL, SLAB_ZERO);
	if (nodes && parts)
		return 0;
	filter_stop();
	return -ENOMEM;
}

int filter_stop(void)
{
	int error = cache_stop(&nodes);

	return error ? error : cache_stop(&parts);
}

struct filter *filter_new(enum filter_kind kind)
{
	struct filter *filter = slab_alloc(nodes);

	if (filter)
		filter->kind = kind;
	return filter;
}

struct filter_part *filter_part_new(void)
{
	return slab_alloc(parts);
}

static void parts_free(struct filter_part *part)
{
	struct filter_part *next;

	for (; part; part = next) {
		next = part->next;
		slab_mfree((void *)part->normal.data);
		slab_free(parts, part);
	}
}

/* Nodes as a list: the children of each node come next, so that no depth of a tree needs a
 * stack. */
void filter_free(struct filter *filter)
{
	while (filter) {
		struct filter *next = filter->next, *last = filter->children;

		if (last) {
			while (last->next)
				last = last->next;
			last->next = next;
			next = filter->children;
		}
		parts_free(filter->any);
		slab_mfree((void *)filter->base.data);
		slab_mfree((void *)filter->normal.data);
		slab_mfree((void *)filter->normal_final.data);
		slab_free(nodes, filter);
		filter = next;
	}
}

/* --- preparing ------------------------------------------------------------------------------ */

/* Keep a buffer's bytes; no bytes stay NULL. */
static struct dirsrv_bytes keep(struct buffer *buffer)
{
	struct dirsrv_bytes bytes = {.data = buffer->data, .length = buffer->length};

	return bytes;
}

static int prepare_type(struct filter *filter)
{
	struct dirsrv_bytes base;
	struct buffer copy = {0};
	bool valid;

	filter->schema = schema_split(filter->type, &base, &valid);
	filter->invalid = !valid;
	/* The request may write its type differently from the entries. */
	buffer_append(&copy, base.data, base.length);
	filter->base = keep(&copy);
	return copy.failed ? -ENOMEM : 0;
}

/* RFC 4517, 4.2.26: a name that is not known may be that of any class. A number without a dot is no
 * OID. */
static bool is_unknown_name(struct dirsrv_bytes value)
{
	const char *text = value.data;

	if (value.length && text[0] >= '0' && text[0] <= '9')
		return !memchr(text, '.', value.length);
	return value.length && !schema_class_find(text, value.length) &&
	       !schema_type_find(text, value.length);
}

/* Normalize a value; what the syntax does not allow makes the node undefined. */
static int prepare_value(struct filter *filter)
{
	struct buffer normal = {0};
	enum schema_rule rule = schema_rule_of(filter->schema);

	if (rule == SCHEMA_NO_MATCH || !schema_allows(filter->schema, filter->value) ||
	    !schema_normalize(rule, filter->value, &normal))
		filter->invalid = true;
	filter->unknown = rule == SCHEMA_OID && is_unknown_name(filter->value);
	filter->normal = keep(&normal);
	return normal.failed ? -ENOMEM : 0;
}

static int prepare_part(const struct filter *filter, enum schema_part part,
			struct dirsrv_bytes value, struct dirsrv_bytes *ret_normal, bool *invalid)
{
	struct buffer normal = {0};

	if (!value.length)
		return 0;
	*invalid |= !schema_allows(filter->schema, value) ||
		    !schema_normalize_part(schema_rule_of(filter->schema), part, value, &normal);
	*ret_normal = keep(&normal);
	return normal.failed ? -ENOMEM : 0;
}

static int prepare_substrings(struct filter *filter)
{
	int error = prepare_part(filter, SCHEMA_INITIAL, filter->value, &filter->normal,
				 &filter->invalid);

	for (struct filter_part *part = filter->any; part && !error; part = part->next)
		error = prepare_part(filter, SCHEMA_ANY, part->value, &part->normal,
				     &filter->invalid);
	if (!error)
		error = prepare_part(filter, SCHEMA_FINAL, filter->final, &filter->normal_final,
				     &filter->invalid);
	if (!(schema_flags_of(filter->schema) & SCHEMA_SUBSTRINGS))
		filter->invalid = true;
	return error;
}

static int prepare_node(struct filter *filter)
{
	int error;

	switch (filter->kind) {
	case FILTER_AND:
	case FILTER_OR:
	case FILTER_NOT:
	case FILTER_UNDEFINED:
		return 0;
	default:
		break;
	}
	error = prepare_type(filter);
	if (error || filter->kind == FILTER_PRESENT)
		return error;
	if (filter->kind == FILTER_SUBSTRINGS)
		return prepare_substrings(filter);
	if ((filter->kind == FILTER_GREATER || filter->kind == FILTER_LESS) &&
	    !(schema_flags_of(filter->schema) & SCHEMA_ORDERING))
		filter->invalid = true;
	return prepare_value(filter);
}

static int prepare(struct filter *filter, unsigned depth)
{
	int error;

	if (depth > FILTER_DEPTH_MAX)
		return -E2BIG;
	if (filter->prepared)
		return 0;
	error = prepare_node(filter);
	for (struct filter *child = filter->children; child && !error; child = child->next)
		error = prepare(child, depth + 1);
	filter->prepared = !error;
	return error;
}

int filter_prepare(struct filter *filter)
{
	return prepare(filter, 1);
}
