/* SPDX-License-Identifier: MIT */
/*
 * Average linkage: the distance of two trees is the mean of the distances of their
 * leaves. When two trees are joined, the distance of the new one to any other is the
 * mean of what theirs were, weighted by their leaves (Lance and Williams). Of pairs that
 * are equally near the one with the lowest numbers is joined, so the same profile gives
 * the same tree.
 */
#include "study.h"

#include <math.h>
#include <stdlib.h>

struct forest {
	size_t count;     /* of leaves: places in the tables */
	double *distance; /* count x count, of trees by place; INFINITY: gone */
	size_t *tree;     /* which tree stands in a place */
	size_t *leaves;   /* how many it has */
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

/* The tree of place `other` joins that of place `one`. */
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

bool study_cluster(struct study *study)
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
