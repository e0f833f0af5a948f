/* SPDX-License-Identifier: MIT */
/*
 * Which entries may match a filter, by the indexes: AND takes the rarest part and intersects it
 * with others while that saves work, OR unites its parts. What no index knows means all entries.
 */
#include <errno.h>

#include "backend/internal.h"
#include "schema/schema.h"

/* With no more candidates than this, they are evaluated without further indexes. */
#define FEW_IDS 32

/* The most parts of an AND for which indexes are asked. */
#define PARTS_MAX 64

/* An estimate: all entries. */
#define ALL SIZE_MAX

static int find(struct store_txn *txn, const struct filter *filter, struct ids *ids, bool *all);
static int estimate(struct store_txn *txn, const struct filter *filter, size_t *count);

/* --- one type ------------------------------------------------------------------------------ */

/* Does an index know the values of this type? The values of supertypes are those of other types. */
static bool is_known(const struct filter *filter)
{
	return (filter->kind == FILTER_EQUAL || filter->kind == FILTER_APPROX) &&
	       !(schema_flags_of(filter->schema) & (SCHEMA_PARENT | SCHEMA_COMPUTED));
}

static int find_item(struct store_txn *txn, const struct filter *filter, struct ids *ids, bool *all)
{
	int error;

	/* What is undefined is never true. */
	*all = !filter->invalid && !is_known(filter);
	if (*all || filter->invalid)
		return 0;
	error = store_ask(txn, filter->base, filter->normal, ids);
	*all = error == ENOENT;
	return *all ? 0 : error;
}

static int estimate_item(struct store_txn *txn, const struct filter *filter, size_t *count)
{
	int error;

	*count = 0;
	if (filter->invalid)
		return 0;
	*count = ALL;
	if (!is_known(filter))
		return 0;
	error = store_estimate(txn, filter->base, filter->normal, count);
	if (error != ENOENT)
		return error;
	*count = ALL;
	return 0;
}

/* --- and, or ------------------------------------------------------------------------------- */

/* A part of an AND. */
struct part {
	const struct filter *filter;
	size_t count;
};

/* Take the rarest part that is left, or NULL: the indexes know no more. */
static const struct filter *take_rarest(struct part *parts, unsigned n)
{
	const struct filter *filter;
	unsigned rarest = 0;

	for (unsigned i = 1; i < n; i++)
		if (parts[i].count < parts[rarest].count)
			rarest = i;
	if (!n || parts[rarest].count == ALL)
		return NULL;
	filter = parts[rarest].filter;
	parts[rarest].count = ALL;
	return filter;
}

static int find_and(struct store_txn *txn, const struct filter *filter, struct ids *ids, bool *all)
{
	struct part parts[PARTS_MAX];
	const struct filter *child = filter->children;
	unsigned n = 0;
	int error = 0;

	*all = true;
	for (; child && n < PARTS_MAX && !error; child = child->next, n++) {
		parts[n].filter = child;
		error = estimate(txn, child, &parts[n].count);
	}
	while (!error && (*all || ids->count > FEW_IDS) && (child = take_rarest(parts, n))) {
		struct ids more = {0};
		bool unknown;

		error = find(txn, child, &more, &unknown);
		if (!error && !unknown && *all) {
			*ids = more;
			*all = false;
			continue;
		}
		if (!error && !unknown)
			ids_intersect(ids, &more);
		ids_free(&more);
	}
	return error;
}

static int find_or(struct store_txn *txn, const struct filter *filter, struct ids *ids, bool *all)
{
	int error = 0;

	*all = false;
	for (const struct filter *child = filter->children; child && !error && !*all;
	     child = child->next) {
		struct ids more = {0};

		error = find(txn, child, &more, all);
		if (!error && !*all)
			ids_unite(ids, &more);
		ids_free(&more);
	}
	return error;
}

static int estimate_tree(struct store_txn *txn, const struct filter *filter, size_t *count)
{
	bool both = filter->kind == FILTER_AND;
	int error = 0;

	*count = both ? ALL : 0;
	for (const struct filter *child = filter->children; child && !error; child = child->next) {
		size_t one;

		error = estimate(txn, child, &one);
		if (both)
			*count = one < *count ? one : *count;
		else
			*count = one == ALL || *count == ALL ? ALL : *count + one;
	}
	return error;
}

static int estimate(struct store_txn *txn, const struct filter *filter, size_t *count)
{
	*count = ALL;
	switch (filter->kind) {
	case FILTER_AND:
	case FILTER_OR:
		return estimate_tree(txn, filter, count);
	case FILTER_NOT:
		return 0;
	case FILTER_EXTENSIBLE:
	case FILTER_UNDEFINED:
		*count = 0;
		return 0;
	default:
		return estimate_item(txn, filter, count);
	}
}

static int find(struct store_txn *txn, const struct filter *filter, struct ids *ids, bool *all)
{
	*all = false;
	switch (filter->kind) {
	case FILTER_AND:
		return find_and(txn, filter, ids, all);
	case FILTER_OR:
		return find_or(txn, filter, ids, all);
	case FILTER_NOT:
		*all = true;
		return 0;
	case FILTER_EXTENSIBLE:
	case FILTER_UNDEFINED:
		return 0;
	default:
		return find_item(txn, filter, ids, all);
	}
}

int candidates_find(struct store_txn *txn, const struct filter *filter, struct ids *ids, bool *all)
{
	int error = filter ? find(txn, filter, ids, all) : 0;

	if (!filter)
		*all = true;
	/* Parts of an OR before the one that no index knows have left theirs. */
	if (*all)
		ids->count = 0;
	if (!error && ids->failed)
		error = ENOMEM;
	return error;
}
