/* SPDX-License-Identifier: MIT */
/*
 * Which parameters belong together.
 *
 * Two parameters are near each other when the pblocks that touch the one, by a get or a
 * set, are those that touch the other: Jaccard distance, one minus the pblocks that
 * touch both over those that touch any of the two. Hierarchical clustering with average
 * linkage joins the nearest first, until all are one tree. It is cut into clumps so that
 * a pblock made of them needs the fewest bytes (cut.c).
 */
#ifndef PBLOCK_STUDY_H
#define PBLOCK_STUDY_H

#include "workload.h"

#define CLUMP_NAME 4

/* One parameter that was touched. */
struct subject {
	uint32_t number;
	const struct parameter *parameter; /* NULL: this library does not know it */
	uint64_t gets, sets;
	uint64_t pblocks; /* that touched it, of those seen from the beginning */
	bool is_touched;
	size_t clump;
};

/* Two trees become one; leaves are the subjects, the i-th join is tree subjects + i. */
struct join {
	size_t one, other;
	double distance;
};

/* A clump, and the sub-struct for it. */
struct clump {
	char name[CLUMP_NAME]; /* A, B, … */
	size_t first, count;   /* of the order */
	uint64_t pblocks;      /* that set one of its parameters */
	size_t size;           /* bytes of the parameters that are set, as a struct */
	bool in_top;           /* it stands in the top and needs no pointer */
	double distance;       /* at which its last two trees were joined */
};

struct study {
	const struct workload *workloads;
	size_t workload_count;
	uint64_t pblocks, gets, sets; /* of all workloads */
	struct subject *subjects;     /* by number */
	size_t count;
	uint64_t *both;     /* count x count: pblocks that touch both */
	struct join *joins; /* count - 1 */
	size_t *order;      /* subjects as the tree has them */
	struct clump *clumps;
	size_t clump_count;
	size_t top_size; /* bytes of the proposed top */
};

/* study_make: false after reporting with fail(). study_free follows in any case. */
bool study_make(struct study *study, const struct workload *workloads, size_t count);
void study_free(struct study *study);

/* study_find: the index of a subject; count when it was never touched. */
size_t study_find(const struct study *study, uint32_t number);

/* study_likeness: pblocks that touch both over those that touch any, 0 to 1. */
double study_likeness(const struct study *study, size_t one, size_t other);

/* The steps of study_make(): cluster.c and cut.c. */
bool study_cluster(struct study *study);
bool study_cut(struct study *study);

/* size_of_subject: bytes that it takes in a pblock: none when it is never set. */
size_t size_of_subject(const struct subject *subject);

#endif /* PBLOCK_STUDY_H */
