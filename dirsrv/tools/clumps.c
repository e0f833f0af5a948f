/* SPDX-License-Identifier: MIT */
/*
 * Cutting the tree into clumps, at the distance CLUMP_DISTANCE. A clump becomes one struct, which
 * is allocated when one of its parameters is first set. Parameters that were only read take no
 * bytes.
 */
#include "study.h"

#include <stdio.h>
#include <stdlib.h>

static const struct join *join_of(const struct study *study, size_t tree)
{
	return tree < study->count ? NULL : &study->joins[tree - study->count];
}

static uint64_t accesses(const struct study *study, size_t tree)
{
	const struct join *join = join_of(study, tree);

	if (!join)
		return study->subjects[tree].gets + study->subjects[tree].sets;
	return accesses(study, join->one) + accesses(study, join->other);
}

static void add_leaf(struct study *study, size_t leaf)
{
	struct clump *clump = &study->clumps[study->clump_count - 1];

	study->order[clump->first + clump->count++] = leaf;
	study->subjects[leaf].clump = study->clump_count - 1;
	clump->size += size_of_subject(&study->subjects[leaf]);
}

static void begin_clump(struct study *study)
{
	size_t index = study->clump_count++;
	struct clump *clump = &study->clumps[index], *last = clump - 1;

	*clump = (struct clump){.first = index ? last->first + last->count : 0};
	if (index < 26)
		snprintf(clump->name, CLUMP_NAME, "%c", (char)('A' + index));
	else
		snprintf(clump->name, CLUMP_NAME, "%c%c", (char)('A' + index / 26 - 1),
			 (char)('A' + index % 26));
}

/* Cut a tree; of two parts the one with more accesses comes first. */
static void cut(struct study *study, size_t tree, bool in_clump)
{
	const struct join *join = join_of(study, tree);
	bool swap;

	if (!in_clump && (!join || join->distance < CLUMP_DISTANCE)) {
		begin_clump(study);
		in_clump = true;
	}
	if (!join) {
		add_leaf(study, tree);
		return;
	}
	swap = accesses(study, join->other) > accesses(study, join->one);
	cut(study, swap ? join->other : join->one, in_clump);
	cut(study, swap ? join->one : join->other, in_clump);
}

bool sets_clump(const struct study *study, const struct life *life, size_t clump)
{
	for (size_t i = 0; i < life->count; i++) {
		size_t subject = study_find(study, life->uses[i].parameter);

		if (life->uses[i].sets && study->subjects[subject].clump == clump)
			return true;
	}
	return false;
}

static void measure_clump(struct study *study, size_t index)
{
	struct clump *clump = &study->clumps[index];

	clump->size = (clump->size + POINTER_SIZE - 1) / POINTER_SIZE * POINTER_SIZE;
	for (size_t i = 0; i < study->workload->count; i++) {
		const struct life *life = &study->workload->lives[i];

		clump->pblocks += sets_clump(study, life, index) ? life->pblocks : 0;
	}
}

bool study_cut(struct study *study)
{
	study->order = calloc(study->count + 1, sizeof(*study->order));
	study->clumps = calloc(study->count + 1, sizeof(*study->clumps));
	if (!study->order || !study->clumps)
		return false;
	if (study->count)
		cut(study, 2 * study->count - 2, false);
	for (size_t c = 0; c < study->clump_count; c++)
		measure_clump(study, c);
	return true;
}
