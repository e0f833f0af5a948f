/* SPDX-License-Identifier: MIT */
/*
 * Which entries may match a filter, by the indexes: AND intersects its parts while that saves work,
 * OR unites its parts. What no index knows means all entries.
 */

#include "backend/internal.h"

/* With no more candidates than this, they are evaluated without further indexes. */
#define FEW_IDS 32

static int find(struct store_txn *txn, const struct filter *filter, struct ids *ids, bool *all);

static int find_item(struct store_txn *txn, const struct filter *filter, struct ids *ids, bool *all)
{
	int error;

	/* What is undefined is never true. */
	*all = !filter->invalid && filter->kind != FILTER_EQUAL;
	if (*all || filter->invalid)
		return 0;
	error = store_ask(txn, filter->base, filter->normal, ids);
	*all = error == ENOENT;
	return *all ? 0 : error;
}

static int find_and(struct store_txn *txn, const struct filter *filter, struct ids *ids, bool *all)
{
	int error = 0;

	*all = true;
	for (const struct filter *child = filter->children;
	     child && !error && (*all || ids->count > FEW_IDS); child = child->next) {
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
	case FILTER_UNDEFINED:
		return 0;
	default:
		return find_item(txn, filter, ids, all);
	}
}

int candidates_find(struct store_txn *txn, const struct filter *filter, struct ids *ids, bool *all)
{
	int error = 0;

	*all = true;
	if (filter)
		error = find(txn, filter, ids, all);
	/* Parts of an OR before the one that no index knows have left theirs. */
	if (*all)
		ids->count = 0;
	return !error && ids->failed ? ENOMEM : error;
}
