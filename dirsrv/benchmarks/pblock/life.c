/* SPDX-License-Identifier: MIT */
/*
 * The cost of a pblock's life: new, some gets and sets, destroy, repeated for the kinds of
 * pblocks that a server creates (README.md), with three implementations (model.h).
 *
 * The accesses are also measured alone. The difference is the cost of the memory: of
 * allocating, zeroing and freeing the pblock and its parts.
 *
 * Contestants take turns, in alternating order, for the given number of rounds; the program
 * reports the median and the least time of the rounds. All calls go through pointers to
 * functions, so that no contestant has an advantage. Each contestant has call sites of its
 * own, as in a program: with shared call sites, the processor mispredicted the calls after
 * each change of contestant, and that was up to a third of the time measured.
 */
#include "life.h"

#include <stdlib.h>

#define LIVES_PER_ROUND 20000
#define WARM_UP_LIVES 2000

const struct contestant *const contestants[CONTESTANTS] = {
	&contestant_v3,
	&contestant_v1,
	&contestant_split389,
	&contestant_v1_switch,
	&contestant_split389_switch,
};

static int one = 1;
static volatile int sink;

/* Read as an int at the end, which waits for no store of another width. */
union value {
	void *pointer;
	int number;
};

#define BEGIN(name)                                                                                \
	static inline __attribute__((always_inline)) void name(                                    \
		const struct contestant *contestant, Slapi_PBlock *pb)                             \
	{                                                                                          \
		union value value;
#define GET(number) contestant->get(pb, number, &value);
#define SET(number) contestant->set(pb, number, &one);
#define END                                                                                        \
	sink = value.number;                                                                       \
	}

/* clang-format off */

/* A plug-in's callbacks for an internal operation. */
BEGIN(plugin)
SET(3) SET(214) SET(215) SET(216) GET(216)
END

/* A filter test: two thirds of all pblocks. */
BEGIN(intplugin)
SET(3) SET(712) GET(712)
END

BEGIN(operation)
#include "operation.def"
END

BEGIN(search)
#include "search.def"
END

/* clang-format on */

	static const struct workload {
	const char *name;
	double weight; /* share of all pblocks of ns-slapd */
	unsigned lives; /* per round */
} workloads[WORKLOADS] = {
	{"plugin", 0.35, LIVES_PER_ROUND},
	{"plugin+intplugin", 0.57, LIVES_PER_ROUND},
	{"operation", 0.08, LIVES_PER_ROUND / 10},
	{"search", 0, LIVES_PER_ROUND / 10},
};

static inline __attribute__((always_inline)) void live(const struct contestant *contestant,
						       unsigned workload, Slapi_PBlock *pb)
{
	if (workload == 0)
		plugin(contestant, pb);
	else if (workload == 1)
		intplugin(contestant, pb);
	else if (workload == 2)
		operation(contestant, pb);
	else
		search(contestant, pb);
}

static inline __attribute__((always_inline)) void lives(const struct contestant *contestant,
							unsigned workload, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		Slapi_PBlock *pb = contestant->new();

		live(contestant, workload, pb);
		contestant->destroy(pb);
	}
}

/* The same gets and sets on one pblock, which stays alive. */
static inline __attribute__((always_inline)) void accesses(const struct contestant *contestant,
							   unsigned workload, Slapi_PBlock *pb,
							   unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		live(contestant, workload, pb);
}

#define CALL_SITES(name)                                                                           \
	static __attribute__((noinline)) void lives_of_##name(unsigned workload, unsigned count)   \
	{                                                                                          \
		lives(&contestant_##name, workload, count);                                        \
	}                                                                                          \
	static __attribute__((noinline)) void accesses_of_##name(unsigned workload,                \
								 Slapi_PBlock *pb, unsigned count) \
	{                                                                                          \
		accesses(&contestant_##name, workload, pb, count);                                 \
	}

CALL_SITES(v3)
CALL_SITES(v1)
CALL_SITES(split389)
CALL_SITES(v1_switch)
CALL_SITES(split389_switch)

/* In the order of contestants[]. */
static const struct {
	void (*lives)(unsigned workload, unsigned count);
	void (*accesses)(unsigned workload, Slapi_PBlock *pb, unsigned count);
} call_sites[CONTESTANTS] = {
	{lives_of_v3, accesses_of_v3},
	{lives_of_v1, accesses_of_v1},
	{lives_of_split389, accesses_of_split389},
	{lives_of_v1_switch, accesses_of_v1_switch},
	{lives_of_split389_switch, accesses_of_split389_switch},
};

static bool is_filled(const struct piece *piece, uintptr_t line)
{
	uintptr_t first = (uintptr_t)piece->at, end = first + piece->size;
	uintptr_t at = line * CACHE_LINE, to = at + CACHE_LINE;

	at = at < first ? first : at;
	to = to > end ? end : to;
	while (at < to && !*(const char *)at)
		at++;
	return at < to;
}

void weigh(const struct contestant *contestant, Slapi_PBlock *pb, struct weight *weight)
{
	struct piece pieces[MAX_PIECES];
	unsigned count = contestant->pieces(pb, pieces);

	weight->pieces += count;
	for (unsigned i = 0; i < count; i++) {
		uintptr_t line = (uintptr_t)pieces[i].at / CACHE_LINE;
		uintptr_t last = ((uintptr_t)pieces[i].at + pieces[i].size - 1) / CACHE_LINE;

		weight->bytes += pieces[i].size;
		for (; line <= last; line++) {
			weight->lines++;
			weight->filled += is_filled(&pieces[i], line);
		}
	}
}

static void weigh_life(const struct contestant *contestant, unsigned workload,
		       struct result *result)
{
	Slapi_PBlock *pb = contestant->new();

	live(contestant, workload, pb);
	weigh(contestant, pb, &result->weight_at_end);
	contestant->destroy(pb);
}

static void time_round(unsigned number, unsigned workload, unsigned round, struct result *result)
{
	const struct contestant *contestant = contestants[number];
	unsigned count = workloads[workload].lives;
	double begin = now_ns();

	call_sites[number].lives(workload, count);
	result->ns[round] = (now_ns() - begin) / count;

	Slapi_PBlock *pb = contestant->new();

	live(contestant, workload, pb);
	begin = now_ns();
	call_sites[number].accesses(workload, pb, count);
	result->access_ns[round] = (now_ns() - begin) / count;
	contestant->destroy(pb);
}

void measure_lives(unsigned rounds, struct result results[CONTESTANTS][WORKLOADS])
{
	for (unsigned number = 0; number < CONTESTANTS; number++) {
		for (unsigned work = 0; work < WORKLOADS; work++) {
			struct result *result = &results[number][work];

			result->contestant = contestants[number]->name;
			result->workload = workloads[work].name;
			result->weight = workloads[work].weight;
			call_sites[number].lives(work, WARM_UP_LIVES);
			weigh_life(contestants[number], work, result);
		}
	}
	for (unsigned round = 0; round < rounds; round++) {
		for (unsigned i = 0; i < CONTESTANTS * WORKLOADS; i++) {
			unsigned step = round % 2 ? CONTESTANTS * WORKLOADS - 1 - i : i;
			unsigned number = step % CONTESTANTS, work = step / CONTESTANTS;

			time_round(number, work, round, &results[number][work]);
		}
	}
}
