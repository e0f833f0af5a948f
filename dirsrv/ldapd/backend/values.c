/* SPDX-License-Identifier: MIT */
/* The values of one type of a draft: finding, checking. */
#include "backend/internal.h"

#include <slab/malloc.h>

#include "base/bytes.h"

/* The longest attribute description. */
#define TYPE_MAX 255

int values_find(struct draft *draft, struct dirsrv_bytes type, struct values *values)
{
	const struct pairs *pairs = &draft->pairs;
	struct dirsrv_bytes base;
	bool valid;

	values->schema = schema_split(type, &base, &valid);
	if (!valid || type.length > TYPE_MAX) {
		result_set(draft->result, LDAP_UNDEFINED_TYPE,
			   "'%.*s' is no attribute description; accepted: a name or OID, and "
			   ";options, of up to 255 bytes",
			   (int)(type.length < 64 ? type.length : 64), (const char *)type.data);
		return LDAP_UNDEFINED_TYPE;
	}
	values->name = arena_copy(&draft->arena, base);
	values->count = 0;
	for (values->at = 0; values->at < pairs->count; values->at++)
		if (bytes_equal_folded(pairs->pair[values->at].type, values->name))
			break;
	for (size_t i = values->at; i < pairs->count; i++, values->count++)
		if (!bytes_equal_folded(pairs->pair[i].type, values->name))
			break;
	return LDAP_SUCCESS;
}

void values_append(struct draft *draft, struct values *values, struct dirsrv_bytes value)
{
	pairs_insert(&draft->pairs, values->at + values->count, values->name, value);
	values->count++;
}

static enum schema_rule rule_of(const struct values *values)
{
	enum schema_rule rule = schema_rule_of(values->schema);

	return rule == SCHEMA_NO_MATCH ? SCHEMA_OCTETS : rule;
}

/* The normal form, or the bytes as they are. */
static void normalize(const struct values *values, struct dirsrv_bytes value, struct buffer *out)
{
	if (!schema_normalize(rule_of(values), value, out) && !out->failed)
		buffer_append(out, value.data, value.length);
}

long values_position(struct draft *draft, const struct values *values, struct dirsrv_bytes value)
{
	struct buffer wanted = {0}, normal = {0};
	long found = -1;

	normalize(values, value, &wanted);
	for (size_t i = 0; i < values->count && found < 0; i++) {
		buffer_clear(&normal);
		normalize(values, draft->pairs.pair[values->at + i].value, &normal);
		if (bytes_equal((struct dirsrv_bytes){wanted.data, wanted.length},
				(struct dirsrv_bytes){normal.data, normal.length}))
			found = (long)(values->at + i);
	}
	draft->arena.failed |= wanted.failed | normal.failed;
	buffer_free(&wanted);
	buffer_free(&normal);
	return found;
}

/* --- in order ------------------------------------------------------------------------------- */

/* A normalized value, and its number among the values. */
struct known {
	uint64_t start;
	uint64_t length;
	uint64_t number;
};

static struct dirsrv_bytes bytes_at(const struct known *known, const char *bytes)
{
	struct dirsrv_bytes at = {.data = bytes + known->start, .length = known->length};

	return at;
}

static int compare(const void *a, const void *b, void *bytes)
{
	return bytes_compare(bytes_at(a, bytes), bytes_at(b, bytes));
}

/* All values in normal form and in order; NULL without memory. They point into `bytes`. */
static struct known *sort(struct draft *draft, const struct values *values, struct buffer *bytes)
{
	struct known *known = slab_malloc(values->count * sizeof(*known));

	for (size_t i = 0; known && i < values->count; i++) {
		known[i].start = bytes->length;
		known[i].number = i;
		normalize(values, draft->pairs.pair[values->at + i].value, bytes);
		known[i].length = bytes->length - known[i].start;
	}
	draft->arena.failed |= !known || bytes->failed;
	if (known && bytes->failed) {
		slab_mfree(known);
		return NULL;
	}
	if (known)
		qsort_r(known, values->count, sizeof(*known), compare, bytes->data);
	return known;
}

/* --- removing -------------------------------------------------------------------------------- */

static bool remove_one(struct draft *draft, struct values *values, struct dirsrv_bytes value)
{
	long at = values_position(draft, values, value);

	if (at < 0)
		return false;
	pairs_remove(&draft->pairs, (size_t)at, 1);
	values->count--;
	return true;
}

/* Mark the value that matches: it loses its type. */
static bool mark(struct draft *draft, const struct values *values, const struct known *known,
		 const char *bytes, struct dirsrv_bytes normal)
{
	size_t low = 0, high = values->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = bytes_compare(bytes_at(&known[middle], bytes), normal);

		if (!order) {
			draft->pairs.pair[values->at + known[middle].number].type.data = NULL;
			return true;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static void remove_marked(struct draft *draft, struct values *values)
{
	struct dirsrv_pair *pair = draft->pairs.pair + values->at;
	size_t kept = 0;

	for (size_t i = 0; i < values->count; i++)
		if (pair[i].type.data)
			pair[kept++] = pair[i];
	pairs_remove(&draft->pairs, values->at + kept, values->count - kept);
	values->count = kept;
}

bool values_remove(struct draft *draft, struct values *values, const struct dirsrv_bytes *given,
		   size_t n)
{
	struct buffer bytes = {0}, normal = {0};
	struct known *known;
	bool found = true;

	if (n == 1)
		return remove_one(draft, values, *given);
	known = sort(draft, values, &bytes);
	for (size_t i = 0; known && i < n && found; i++) {
		buffer_clear(&normal);
		normalize(values, given[i], &normal);
		draft->arena.failed |= normal.failed;
		found = mark(draft, values, known, bytes.data,
			     (struct dirsrv_bytes){normal.data, normal.length});
	}
	remove_marked(draft, values);
	buffer_free(&normal);
	buffer_free(&bytes);
	slab_mfree(known);
	return found;
}

/* --- checks --------------------------------------------------------------------------------- */

/* The number of a value that an earlier one matches, or -1. The time is that of sorting. */
static long find_double(struct draft *draft, const struct values *values)
{
	struct buffer bytes = {0};
	struct known *known = sort(draft, values, &bytes);
	long found = -1;

	for (size_t i = 1; known && i < values->count && found < 0; i++)
		if (!compare(&known[i - 1], &known[i], bytes.data))
			found = (long)(known[i].number > known[i - 1].number ? known[i].number
									     : known[i - 1].number);
	buffer_free(&bytes);
	slab_mfree(known);
	return found;
}

static int check_value(struct draft *draft, const struct values *values, size_t i, const char *what)
{
	struct dirsrv_bytes value = draft->pairs.pair[values->at + i].value;
	const char *name = values->name.data;

	if (value.length > DIRSRV_VALUE_MAX) {
		result_set(draft->result, LDAP_CONSTRAINT_VIOLATION,
			   "%s%s: value #%zu is longer than %zu bytes", what, name, i,
			   DIRSRV_VALUE_MAX);
		return LDAP_CONSTRAINT_VIOLATION;
	}
	if (schema_valid(values->schema, value))
		return LDAP_SUCCESS;
	result_set(draft->result, LDAP_INVALID_SYNTAX, "%s%s: value #%zu invalid per syntax", what,
		   name, i);
	return LDAP_INVALID_SYNTAX;
}

int values_check(struct draft *draft, const struct values *values, const char *what)
{
	const char *name = values->name.data;
	int code = LDAP_SUCCESS;
	long twice;

	for (size_t i = 0; i < values->count && !code; i++)
		code = check_value(draft, values, i, what);
	if (code)
		return code;
	if (values->count > 1 && schema_flags_of(values->schema) & SCHEMA_SINGLE) {
		result_set(draft->result, LDAP_CONSTRAINT_VIOLATION,
			   "%s%s: multiple values provided for a single-valued attribute", what,
			   name);
		return LDAP_CONSTRAINT_VIOLATION;
	}
	twice = values->count > 1 ? find_double(draft, values) : -1;
	if (twice >= 0) {
		result_set(draft->result, LDAP_TYPE_OR_VALUE_EXISTS,
			   "%s%s: value #%ld is there already", what, name, twice);
		return LDAP_TYPE_OR_VALUE_EXISTS;
	}
	return LDAP_SUCCESS;
}
