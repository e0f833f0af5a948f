/* SPDX-License-Identifier: MIT */
/*
 * The generator of program.h: which slots are live, which are empty, and with Zipf
 * ages which of them is due when.
 */

#include "bench.h"
#include "program.h"

#define SLACK (BENCH_LIVE_OBJECTS / 100)
/* Ages: 20 octaves, and a factor that gives BENCH_LIVE_OBJECTS on average. */
#define OCTAVES 20u
#define AGE_FACTOR 163u
#define AGE_DIVISOR 128u
#define AGE_RING (1u << 21) /* above the greatest age, 2^20 * 163 / 128 */
#define NONE UINT32_MAX
/* The last mix of a batch may exceed its end by a burst or by all frees due. */
#define STEPS_MAX (PROGRAM_LEAD + PROGRAM_STEPS + PROGRAM_SLOTS)

struct program {
	uint64_t random;
	unsigned live, empty, steps;
	uint32_t now;                   /* allocations with an age until now */
	uint32_t live_slot[PROGRAM_SLOTS];
	uint32_t empty_slot[PROGRAM_SLOTS];
	uint32_t due_next[PROGRAM_SLOTS]; /* the next slot due at the same time */
	uint32_t due[AGE_RING];
	uint32_t step[STEPS_MAX];
};

struct program *program_open(uint64_t seed)
{
	struct program *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		bench_fail("no memory for a program of %zu bytes", sizeof(*p));
	p->random = seed;
	for (unsigned i = 0; i < PROGRAM_SLOTS; i++)
		p->empty_slot[p->empty++] = PROGRAM_SLOTS - 1 - i;
	memset(p->due, 0xff, sizeof(p->due));
	return p;
}

void program_close(struct program *p)
{
	munmap(p, sizeof(*p));
}

static unsigned below(struct program *p, unsigned limit)
{
	return (unsigned)(bench_random(&p->random) >> 16) % limit;
}

/* Returns the slot. */
static uint32_t add_alloc(struct program *p)
{
	uint32_t slot = p->empty_slot[--p->empty];

	p->live_slot[p->live++] = slot;
	p->step[p->steps++] = slot << 1 | PROGRAM_ALLOC;
	return slot;
}

static void add_random_free(struct program *p)
{
	unsigned k = below(p, p->live);
	uint32_t slot = p->live_slot[k];

	p->live_slot[k] = p->live_slot[--p->live];
	p->empty_slot[p->empty++] = slot;
	p->step[p->steps++] = slot << 1;
}

void program_random(struct program *p)
{
	bool alloc = bench_random(&p->random) >> 40 & 1;

	if (p->live >= BENCH_LIVE_OBJECTS + SLACK)
		alloc = false;
	else if (p->live <= BENCH_LIVE_OBJECTS - SLACK)
		alloc = true;
	if (alloc)
		add_alloc(p);
	else
		add_random_free(p);
}

void program_burst(struct program *p)
{
	unsigned n = 1 + below(p, PROGRAM_BURST);

	for (unsigned i = 0; i < n; i++)
		add_random_free(p);
	for (unsigned i = 0; i < n; i++)
		add_alloc(p);
}

static uint32_t zipf_age(struct program *p)
{
	uint32_t octave = 1u << below(p, OCTAVES);
	uint32_t age = octave + below(p, octave);

	return 1 + (uint32_t)((uint64_t)age * AGE_FACTOR / AGE_DIVISOR);
}

/* Slots with an age are not in live_slot, whose order only random victims need. */
static void add_due_frees(struct program *p)
{
	uint32_t *due = &p->due[p->now % AGE_RING];

	while (*due != NONE) {
		uint32_t slot = *due;

		*due = p->due_next[slot];
		p->live--;
		p->empty_slot[p->empty++] = slot;
		p->step[p->steps++] = slot << 1;
	}
}

void program_zipf(struct program *p)
{
	if (p->empty > 0) {
		uint32_t slot = add_alloc(p);
		uint32_t *due = &p->due[(p->now + zipf_age(p)) % AGE_RING];

		p->due_next[slot] = *due;
		*due = slot;
	}
	p->now++;
	add_due_frees(p);
}

const uint32_t *program_fill(struct program *p, unsigned *n)
{
	p->steps = 0;
	while (p->live < BENCH_LIVE_OBJECTS)
		add_alloc(p);
	*n = p->steps;
	return p->step;
}

const uint32_t *program_next(struct program *p, program_mix mix, unsigned *n)
{
	p->steps = 0;
	while (p->steps < PROGRAM_LEAD + PROGRAM_STEPS)
		mix(p);
	*n = p->steps;
	return p->step;
}
