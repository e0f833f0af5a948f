/* SPDX-License-Identifier: MIT */
/* Evaluation of filters on entries. */

#include "base/memory.h"
#include "base/bytes.h"
#include "filter/filter.h"
#include "schema/schema.h"

/* An evaluation: the entry, where values are normalized. */
struct evaluation {
	const struct dirsrv_entry *entry;
	struct buffer normal;
};

/* --- values ------------------------------------------------------------------------------- */

/* Find a part at or behind *at; moves *at behind it. */
static bool find_part(struct dirsrv_bytes value, struct dirsrv_bytes part, size_t *at)
{
	const char *found;

	if (!part.length)
		return true;
	found = memmem((const char *)value.data + *at, value.length - *at, part.data, part.length);
	if (!found)
		return false;
	*at = (size_t)(found - (const char *)value.data) + part.length;
	return true;
}

static bool has_substrings(const struct filter *filter, struct dirsrv_bytes value)
{
	struct dirsrv_bytes initial = filter->normal, final = filter->normal_final;
	size_t at = initial.length;

	if (value.length < initial.length + final.length ||
	    (initial.length && memcmp(value.data, initial.data, initial.length) != 0))
		return false;
	for (const struct filter_part *part = filter->any; part; part = part->next)
		if (!find_part(value, part->normal, &at))
			return false;
	return value.length - at >= final.length &&
	       (!final.length || memcmp((const char *)value.data + value.length - final.length,
					final.data, final.length) == 0);
}

/* A class is also each of its superclasses. */
static bool is_subclass(struct dirsrv_bytes value, struct dirsrv_bytes wanted)
{
	const struct schema_class *other = schema_class_find(wanted.data, wanted.length);
	const struct schema_class *cls = other ? schema_class_find(value.data, value.length) : NULL;

	return cls && schema_class_is(cls, other);
}

static bool value_matches(const struct filter *filter, struct dirsrv_bytes normal)
{
	switch (filter->kind) {
	case FILTER_SUBSTRINGS:
		return has_substrings(filter, normal);
	case FILTER_GREATER:
		return bytes_compare(normal, filter->normal) >= 0;
	case FILTER_LESS:
		return bytes_compare(normal, filter->normal) <= 0;
	default:
		return bytes_equal(normal, filter->normal) ||
		       (schema_rule_of(filter->schema) == SCHEMA_OID &&
			is_subclass(normal, filter->normal));
	}
}

/* One value as the entry has it. */
static enum filter_result check_value(struct evaluation *e, const struct filter *filter,
				      struct dirsrv_bytes value)
{
	struct dirsrv_bytes normal;

	buffer_clear(&e->normal);
	if (!schema_normalize(schema_rule_of(filter->schema), value, &e->normal))
		return e->normal.failed ? FILTER_RESULT_UNDEFINED : FILTER_FALSE;
	normal.data = e->normal.data;
	normal.length = e->normal.length;
	return value_matches(filter, normal) ? FILTER_TRUE : FILTER_FALSE;
}

static enum filter_result check_values(struct evaluation *e, const struct filter *filter,
				       const struct dirsrv_attribute *attribute)
{
	const struct dirsrv_value *value = dirsrv_attribute_first(attribute);
	enum filter_result result = FILTER_FALSE;

	for (; value && result == FILTER_FALSE; value = dirsrv_value_next(value))
		result = check_value(e, filter, dirsrv_value_data(value));
	return result;
}

/* --- attributes --------------------------------------------------------------------------- */

static bool type_matches(const struct filter *filter, const struct dirsrv_attribute *attribute)
{
	struct dirsrv_bytes type;

	type.data = dirsrv_attribute_type(attribute, &type.length);
	return bytes_equal_folded(type, filter->base);
}

/* A node with a type: true when one value of one attribute matches. */
static enum filter_result check_item(struct evaluation *e, const struct filter *filter)
{
	const struct dirsrv_attribute *attribute = dirsrv_entry_first(e->entry);
	enum filter_result result = filter->schema ? FILTER_FALSE : FILTER_RESULT_UNDEFINED;

	if (filter->invalid)
		return FILTER_RESULT_UNDEFINED;
	for (; attribute && result != FILTER_TRUE; attribute = dirsrv_attribute_next(attribute)) {
		if (!type_matches(filter, attribute))
			continue;
		result = filter->kind == FILTER_PRESENT ? FILTER_TRUE
							: check_values(e, filter, attribute);
	}
	return result == FILTER_FALSE && filter->unknown ? FILTER_RESULT_UNDEFINED : result;
}

/* --- trees -------------------------------------------------------------------------------- */

static enum filter_result evaluate(struct evaluation *e, const struct filter *filter);

/* The value that decides, else undefined if there is one, else the other value. */
static enum filter_result combine(struct evaluation *e, const struct filter *child,
				  enum filter_result decides)
{
	enum filter_result result = decides == FILTER_TRUE ? FILTER_FALSE : FILTER_TRUE;

	for (; child && result != decides; child = child->next) {
		enum filter_result one = evaluate(e, child);

		if (one == decides || one == FILTER_RESULT_UNDEFINED)
			result = one;
	}
	return result;
}

static enum filter_result negate(enum filter_result result)
{
	if (result == FILTER_RESULT_UNDEFINED)
		return result;
	return result == FILTER_TRUE ? FILTER_FALSE : FILTER_TRUE;
}

static enum filter_result evaluate(struct evaluation *e, const struct filter *filter)
{
	switch (filter->kind) {
	case FILTER_AND:
		return combine(e, filter->children, FILTER_FALSE);
	case FILTER_OR:
		return combine(e, filter->children, FILTER_TRUE);
	case FILTER_NOT:
		return negate(evaluate(e, filter->children));
	case FILTER_UNDEFINED:
		return FILTER_RESULT_UNDEFINED;
	default:
		return check_item(e, filter);
	}
}

enum filter_result filter_matches(const struct filter *filter, const struct dirsrv_entry *entry)
{
	struct evaluation e = {.entry = entry};
	enum filter_result result = evaluate(&e, filter);

	buffer_free(&e.normal);
	return result;
}
