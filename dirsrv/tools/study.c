/* SPDX-License-Identifier: MIT */
/* A study: counting, clustering and cutting. */
#include "study.h"

#include "fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- counts: accesses of each parameter, and how many pblocks touch two of them ------------- */

/* Subjects */

/* The index of a parameter that was touched. */
static size_t study_find(const struct study *study, const struct parameter *parameter)
{
	return study->index[parameter - parameters];
}

static bool make_subjects(struct study *study)
{
	study->subjects = calloc(parameters_count, sizeof(*study->subjects));
	study->index = calloc(parameters_count, sizeof(*study->index));
	return study->subjects && study->index;
}

static void count_use(struct study *study, const struct life *life, const struct use *use)
{
	size_t *index = &study->index[use->parameter - parameters];
	struct subject *subject;

	if (study->subjects[*index].parameter != use->parameter)
		*index = study->count++;
	subject = &study->subjects[*index];
	subject->parameter = use->parameter;
	subject->gets += use->gets;
	subject->sets += use->sets;
	subject->pblocks += life->pblocks;
}

static void count_uses(struct study *study)
{
	for (size_t i = 0; i < study->workload->count; i++) {
		const struct life *life = &study->workload->lives[i];

		for (size_t u = 0; u < life->count; u++)
			count_use(study, life, &life->uses[u]);
	}
}

size_t size_of_subject(const struct subject *subject)
{
	return subject->sets ? subject->parameter->size : 0;
}

double share(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/* Co-use */

static void count_life(struct study *study, const struct life *life)
{
	for (size_t i = 0; i < life->count; i++) {
		size_t one = study_find(study, life->uses[i].parameter);

		for (size_t j = 0; j < life->count; j++) {
			size_t other = study_find(study, life->uses[j].parameter);

			study->both[one * study->count + other] += life->pblocks;
		}
	}
}

static bool study_count(struct study *study)
{
	if (!make_subjects(study))
		return false;
	count_uses(study);
	study->both = calloc(study->count * study->count + 1, sizeof(*study->both));
	if (!study->both)
		return false;
	for (size_t i = 0; i < study->workload->count; i++)
		count_life(study, &study->workload->lives[i]);
	return true;
}

double study_likeness(const struct study *study, size_t one, size_t other)
{
	uint64_t both = study->both[one * study->count + other];
	uint64_t any = study->subjects[one].pblocks + study->subjects[other].pblocks - both;

	return any ? (double)both / (double)any : 0;
}

/* --- clustering ----------------------------------------------------------------------------- */

/*
 * Hierarchical clustering with average linkage: the distance of two trees is the mean of the
 * distances of their leaves. When two trees are joined, the distance of the new tree to any other
 * is the mean of their distances to it, weighted by their numbers of leaves (Lance and Williams).
 * Of pairs with the same distance, the pair with the lowest numbers is joined, so the same profile
 * always gives the same tree.
 */

struct forest {
	size_t count;     /* number of leaves, which is the number of places in the tables */
	double *distance; /* count x count, of the trees in two places; INFINITY: no tree there */
	size_t *tree;     /* the tree in a place */
	size_t *leaves;   /* the number of its leaves */
};

static double *place(struct forest *forest, size_t one, size_t other)
{
	return &forest->distance[one * forest->count + other];
}

static bool plant(struct forest *forest, const struct study *study)
{
	size_t count = study->count;

	*forest = (struct forest){.count = count};
	forest->distance = malloc((count * count + 1) * sizeof(*forest->distance));
	forest->tree = malloc((count + 1) * sizeof(*forest->tree));
	forest->leaves = malloc((count + 1) * sizeof(*forest->leaves));
	if (!forest->distance || !forest->tree || !forest->leaves)
		return false;
	for (size_t i = 0; i < count; i++) {
		forest->tree[i] = i;
		forest->leaves[i] = 1;
		for (size_t j = 0; j < count; j++)
			*place(forest, i, j) = i == j ? INFINITY : 1 - study_likeness(study, i, j);
	}
	return true;
}

static void find_nearest(struct forest *forest, size_t *ret_one, size_t *ret_other)
{
	*ret_one = *ret_other = 0;
	for (size_t i = 0; i < forest->count; i++) {
		for (size_t j = i + 1; j < forest->count; j++) {
			if (*place(forest, i, j) < *place(forest, *ret_one, *ret_other)) {
				*ret_one = i;
				*ret_other = j;
			}
		}
	}
}

/* Join the trees in two places; the new tree is in place `one`. */
static void merge(struct forest *forest, size_t one, size_t other)
{
	double a = (double)forest->leaves[one], b = (double)forest->leaves[other];

	for (size_t i = 0; i < forest->count; i++) {
		double mean;

		if (i == one || i == other)
			continue;
		mean = (a * *place(forest, one, i) + b * *place(forest, other, i)) / (a + b);
		*place(forest, one, i) = *place(forest, i, one) = mean;
	}
	for (size_t i = 0; i < forest->count; i++)
		*place(forest, other, i) = *place(forest, i, other) = INFINITY;
	forest->leaves[one] += forest->leaves[other];
}

static void grow(struct forest *forest, struct study *study)
{
	for (size_t i = 0; i + 1 < study->count; i++) {
		struct join *join = &study->joins[i];
		size_t one, other;

		find_nearest(forest, &one, &other);
		*join = (struct join){forest->tree[one], forest->tree[other],
				      *place(forest, one, other)};
		merge(forest, one, other);
		forest->tree[one] = study->count + i;
	}
}

static bool study_cluster(struct study *study)
{
	struct forest forest;
	bool done;

	study->joins = calloc(study->count + 1, sizeof(*study->joins));
	done = plant(&forest, study) && study->joins;
	if (done)
		grow(&forest, study);
	free(forest.distance);
	free(forest.tree);
	free(forest.leaves);
	return done;
}

/* --- clumps --------------------------------------------------------------------------------- */

/*
 * Cutting the tree into clumps, at the distance CLUMP_DISTANCE. A clump becomes one struct, which
 * is allocated when one of its parameters is first set. Parameters that were only read take no
 * bytes.
 */

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

/* The steps of study_make(): counts.c, cluster.c and clumps.c. */
static bool study_cut(struct study *study)
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

/* --- all steps ------------------------------------------------------------------------------ */

bool study_make(struct study *study, const struct workload *workload)
{
	*study = (struct study){.workload = workload};
	if (study_count(study) && study_cluster(study) && study_cut(study))
		return true;
	fail("no memory for %zu parameters", study->count);
	return false;
}

void study_free(struct study *study)
{
	free(study->subjects);
	free(study->index);
	free(study->both);
	free(study->joins);
	free(study->order);
	free(study->clumps);
}
