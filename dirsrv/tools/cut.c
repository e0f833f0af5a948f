/* SPDX-License-Identifier: MIT */
/*
 * Cutting the tree into clumps. A clump is a subtree whose leaves become one struct, which is
 * allocated when one of its parameters is first set. The top has a pointer to each clump, and one
 * to a struct for all parameters that were never set in these profiles. A clump may also be part of
 * the top itself. Parameters that were only read take no bytes.
 *
 * Of all ways to cut the tree, not only those at one distance, this code chooses the one that needs
 * the fewest bytes per pblock with a top of at most 80 bytes. Dynamic programming finds it from the
 * leaves up: for each tree and each number of words of the top that it may use, either the tree is
 * one clump, or its two subtrees share the words in the best way. A tree is not cut if that saves
 * nothing.
 */
#include "layouts.h"
#include "study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define WORD POINTER_SIZE
#define WORDS (TOP_MAX / WORD - 1) /* words of the top without the pointer to the rest */

enum how { HOW_NONE, HOW_POINTER, HOW_TOP, HOW_SPLIT };

/* The best choice for a tree that may use a given number of words of the top. */
struct choice {
	enum how how;
	double bytes; /* of structs, per pblock; INFINITY: it needs more words */
	size_t words; /* HOW_SPLIT: the words of its first subtree */
};

struct tree {
	size_t bytes;     /* of its leaves */
	uint64_t pblocks; /* that set one of them */
	bool set;         /* the present kind of pblocks sets one of them */
	struct choice choices[WORDS + 1];
};

static const struct join *join_of(const struct study *study, size_t tree)
{
	return tree < study->count ? NULL : &study->joins[tree - study->count];
}

static size_t tree_count(const struct study *study)
{
	return 2 * study->count - 1;
}

static size_t struct_size(const struct tree *tree)
{
	return (tree->bytes + WORD - 1) / WORD * WORD;
}

/* Measuring */

static void measure_bytes(const struct study *study, struct tree *trees)
{
	for (size_t i = 0; i < tree_count(study); i++) {
		const struct join *join = join_of(study, i);

		trees[i].bytes = join ? trees[join->one].bytes + trees[join->other].bytes
				      : size_of_subject(&study->subjects[i]);
	}
}

static void count_kind(const struct study *study, struct tree *trees,
		       const struct kind_of_life *kind)
{
	for (size_t i = 0; i < tree_count(study); i++) {
		const struct join *join = join_of(study, i);

		trees[i].set = join && (trees[join->one].set || trees[join->other].set);
		if (!join) {
			const struct use *use = kind_use(kind, study->subjects[i].number);

			trees[i].set = use && use->sets;
		}
		trees[i].pblocks += trees[i].set ? kind->pblocks : 0;
	}
}

static void measure(const struct study *study, struct tree *trees)
{
	measure_bytes(study, trees);
	for (size_t w = 0; w < study->workload_count; w++) {
		for (size_t k = 0; k < study->workloads[w].count; k++) {
			if (study->workloads[w].kinds[k].whole)
				count_kind(study, trees, &study->workloads[w].kinds[k]);
		}
	}
}

/* Choosing */

static struct choice one_clump(const struct study *study, const struct tree *tree, size_t words)
{
	double pblocks = study->pblocks ? (double)study->pblocks : 1;

	if (tree->bytes == 0)
		return (struct choice){HOW_NONE, 0, 0};
	if (words >= struct_size(tree) / WORD)
		return (struct choice){HOW_TOP, 0, 0};
	if (words >= 1)
		return (struct choice){HOW_POINTER,
				       (double)struct_size(tree) * (double)tree->pblocks / pblocks,
				       0};
	return (struct choice){HOW_NONE, INFINITY, 0};
}

static void choose(const struct study *study, struct tree *trees, size_t tree)
{
	const struct join *join = join_of(study, tree);

	for (size_t words = 0; words <= WORDS; words++) {
		struct choice best = one_clump(study, &trees[tree], words);

		for (size_t first = 0; join && first <= words; first++) {
			double bytes = trees[join->one].choices[first].bytes +
				       trees[join->other].choices[words - first].bytes;

			if (bytes < best.bytes)
				best = (struct choice){HOW_SPLIT, bytes, first};
		}
		trees[tree].choices[words] = best;
	}
}

/* Cutting */

static uint64_t accesses(const struct study *study, size_t tree)
{
	const struct join *join = join_of(study, tree);

	if (!join)
		return study->subjects[tree].gets + study->subjects[tree].sets;
	return accesses(study, join->one) + accesses(study, join->other);
}

/* Should the trees of a join be swapped? The tree with more accesses comes first. */
static bool is_swapped(const struct study *study, const struct join *join)
{
	return accesses(study, join->other) > accesses(study, join->one);
}

static void add_leaves(struct study *study, size_t tree, struct clump *clump)
{
	const struct join *join = join_of(study, tree);

	if (join) {
		bool swap = is_swapped(study, join);

		add_leaves(study, swap ? join->other : join->one, clump);
		add_leaves(study, swap ? join->one : join->other, clump);
		return;
	}
	study->order[clump->first + clump->count++] = tree;
	study->subjects[tree].clump = study->clump_count;
}

static void name_clump(struct clump *clump, size_t index)
{
	if (index < 26)
		snprintf(clump->name, CLUMP_NAME, "%c", (char)('A' + index));
	else
		snprintf(clump->name, CLUMP_NAME, "%c%c", (char)('A' + index / 26 - 1),
			 (char)('A' + index % 26));
}

static void add_clump(struct study *study, const struct tree *trees, size_t tree, bool in_top)
{
	struct clump *clump = &study->clumps[study->clump_count], *last = clump - 1;
	const struct join *join = join_of(study, tree);

	*clump = (struct clump){
		.first = study->clump_count ? last->first + last->count : 0,
		.pblocks = trees[tree].pblocks,
		.size = struct_size(&trees[tree]),
		.in_top = in_top,
		.distance = join ? join->distance : 0,
	};
	name_clump(clump, study->clump_count);
	add_leaves(study, tree, clump);
	study->clump_count++;
}

static void cut(struct study *study, const struct tree *trees, size_t tree, size_t words)
{
	const struct choice *choice = &trees[tree].choices[words];
	const struct join *join = join_of(study, tree);

	if (choice->how != HOW_SPLIT) {
		add_clump(study, trees, tree, choice->how == HOW_TOP);
	} else if (is_swapped(study, join)) {
		cut(study, trees, join->other, words - choice->words);
		cut(study, trees, join->one, choice->words);
	} else {
		cut(study, trees, join->one, choice->words);
		cut(study, trees, join->other, words - choice->words);
	}
}

static void choose_all(struct study *study, struct tree *trees)
{
	size_t root = tree_count(study) - 1, best = 1;

	for (size_t i = 0; i <= root; i++)
		choose(study, trees, i);
	for (size_t words = 0; words <= WORDS; words++) {
		if ((double)(words * WORD) + trees[root].choices[words].bytes <
		    (double)(best * WORD) + trees[root].choices[best].bytes)
			best = words;
	}
	study->top_size = (best + 1) * WORD;
	cut(study, trees, root, best);
}

bool study_cut(struct study *study)
{
	struct tree *trees = calloc(2 * study->count + 1, sizeof(*trees));
	bool done;

	study->order = calloc(study->count + 1, sizeof(*study->order));
	study->clumps = calloc(study->count + 1, sizeof(*study->clumps));
	done = trees && study->order && study->clumps;
	if (done && study->count) {
		measure(study, trees);
		choose_all(study, trees);
	}
	free(trees);
	return done;
}
