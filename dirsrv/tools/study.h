/* SPDX-License-Identifier: MIT */
/*
 * A study finds parameters that the same pblocks use, and proposes structs for them (clumps).
 *
 * The distance of two parameters is their Jaccard distance: 1 minus the number of pblocks that
 * touch both, by a get or a set, divided by the number that touch at least one. Hierarchical
 * clustering with average linkage joins the nearest parameters first, until all are in one tree
 * (cluster.c). Each largest subtree whose parts are nearer than CLUMP_DISTANCE is a clump.
 */
#pragma once

#include "trace.h"

/* --- the pblocks of traces: which parameters each read and set, from its beginning to its end  */

struct use {
	const struct parameter *parameter;
	uint64_t gets, sets;
};

/* A pblock that ended; a trace of weight N has N of them. */
struct life {
	uint64_t pblocks;
	struct use *uses;
	size_t count, room;
};

struct workload {
	uint64_t pblocks, gets, sets;
	struct life *lives;
	size_t count, room;
};

/* workload_add: add the pblocks of a trace. false after an error message by fail(). The caller
 * calls workload_free() in both cases. */
bool workload_add(struct workload *workload, const char *path);
void workload_free(struct workload *workload);

/* --- studies -------------------------------------------------------------------------------- */

#define CLUMP_NAME 4
#define CLUMP_DISTANCE 0.5
#define POINTER_SIZE 8

/* One parameter that was touched. */
struct subject {
	const struct parameter *parameter;
	uint64_t gets, sets;
	uint64_t pblocks; /* the pblocks that touched it */
	size_t clump;
};

/* Two trees that are joined. Trees have numbers: the subjects come first, and join i is the tree
 * number of subjects + i. */
struct join {
	size_t one, other;
	double distance;
};

/* A clump, and the sub-struct for it. */
struct clump {
	char name[CLUMP_NAME]; /* A, B, … */
	size_t first, count;   /* a range of the study's `order` */
	uint64_t pblocks;      /* the pblocks that set one of its parameters */
	size_t size;           /* bytes of a struct of those parameters that are set */
};

struct study {
	const struct workload *workload;
	struct subject *subjects;
	size_t count;
	size_t *index;      /* of each parameter's subject */
	uint64_t *both;     /* count x count: pblocks that touch both */
	struct join *joins; /* count - 1 */
	size_t *order;      /* the subjects in the order of the tree's leaves */
	struct clump *clumps;
	size_t clump_count;
};

/* study_make: false after an error message by fail(). The caller calls study_free() in both
 * cases. */
bool study_make(struct study *study, const struct workload *workload);
void study_free(struct study *study);

/* study_likeness: the pblocks that touch both, divided by those that touch at least one: 0 to 1. */
double study_likeness(const struct study *study, size_t one, size_t other);

/* sets_clump: does this pblock set a parameter of this clump? */
bool sets_clump(const struct study *study, const struct life *life, size_t clump);

/* share: percent. */
double share(uint64_t part, uint64_t whole);

/* size_of_subject: its bytes in a pblock; 0: it is never set. */
size_t size_of_subject(const struct subject *subject);
