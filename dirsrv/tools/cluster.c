/* SPDX-License-Identifier: MIT */
/*
 * Hierarchical clustering with average linkage: the distance of two trees is the mean of the
 * distances of their leaves. When two trees are joined, the distance of the new tree to any other
 * is the mean of their distances to it, weighted by their numbers of leaves (Lance and Williams).
 * Of pairs with the same distance, the pair with the lowest numbers is joined, so the same profile
 * always gives the same tree.
 */
#include "study.h"

#include <math.h>
#include <stdlib.h>

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
