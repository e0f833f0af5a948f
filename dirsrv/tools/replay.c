/* SPDX-License-Identifier: MIT */
/*
 * pblock-replay: replaying traces. The first round checks each get against a model of the pblock:
 * the value that was set last, or the default. Further rounds make the same calls unchecked and
 * measure their time.
 */
#include "fail.h"
#include "trace.h"

#include <slab/dirsrv/pblock.h>
#include <slab/malloc.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- the checked round ---------------------------------------------------------------------- */

/*
 * The checked round of a replay. Each set has a serial number, from which its value is made. So the
 * model of a pblock is one number per parameter; 0 is the default.
 */

#define VALUE_TEXT 32

struct checker {
	const struct trace *trace;
	const struct call *call;
	Slapi_PBlock **pblocks;
	uint64_t *serials; /* of each pblock and parameter */
	uint64_t serial;
};

union value {
	void *pointer;
	char *string;
	int number;
	uint64_t word;
	struct slapi_pblock_address address;
};

static bool is_string(enum kind kind)
{
	return kind == KIND_OWNED || kind == KIND_OWNED_COPY || kind == KIND_TEXT ||
	       kind == KIND_TEXT_COPY;
}

static bool is_copied_by_get(enum kind kind)
{
	return kind == KIND_OWNED_COPY || kind == KIND_TEXT_COPY;
}

/* Does a clone take the parameter away from its source? Groups that move, and owned strings. */
static bool moves(const struct parameter *parameter)
{
	return parameter->group >= GROUP_intop || is_string(parameter->kind);
}

static bool stop(const struct checker *checker, const char *what)
{
	fail("%s:%" PRIu32 ": %s", checker->trace->path, checker->call->line, what);
	return false;
}

static uint64_t *serial_of(struct checker *checker, uint32_t pblock,
			   const struct parameter *parameter)
{
	return &checker->serials[pblock * parameters_count + (size_t)(parameter - parameters)];
}

/* Values */

/* Make the value of a serial number; 0: the default. `text` has the memory of strings. */
static void make_value(union value *value, char text[VALUE_TEXT], const struct parameter *parameter,
		       uint64_t serial)
{
	memset(value, 0, sizeof(*value));
	if (is_string(parameter->kind)) {
		snprintf(text, VALUE_TEXT, "value %" PRIu64, serial);
		value->string = serial ? text : NULL;
		return;
	}
	switch (parameter->kind) {
	case KIND_INT:
	case KIND_PRESET:
		value->number = serial ? (int)serial : parameter->preset;
		break;
	case KIND_WORD:
		value->word = serial << 32 | serial;
		break;
	case KIND_ADDRESS:
		for (size_t i = 0; i < sizeof(value->address.words) / sizeof(uint64_t); i++)
			value->address.words[i] = serial ? serial + i : 0;
		break;
	default:
		value->word = serial * 16;
	}
}

static bool is_same(const struct parameter *parameter, const union value *one,
		    const union value *other)
{
	if (!is_string(parameter->kind) || !one->string || !other->string)
		return memcmp(one, other, parameter->size) == 0;
	return strcmp(one->string, other->string) == 0;
}

/* Calls */

static bool set(struct checker *checker)
{
	const struct parameter *parameter = checker->call->parameter;
	Slapi_PBlock *pblock = checker->pblocks[checker->call->pblock];
	char text[VALUE_TEXT];
	union value value;
	void *argument = &value;

	make_value(&value, text, parameter, ++checker->serial);
	if (parameter->kind == KIND_OWNED || parameter->kind == KIND_OWNED_COPY)
		argument = slab_ch_strdup(text);
	else if (is_string(parameter->kind))
		argument = text;
	else if (parameter->kind == KIND_POINTER)
		argument = value.pointer;
	if (slapi_pblock_set(pblock, (int)parameter->number, argument) != 0)
		return stop(checker, "the set fails");
	*serial_of(checker, checker->call->pblock, parameter) = checker->serial;
	return true;
}

static bool get(struct checker *checker)
{
	const struct parameter *parameter = checker->call->parameter;
	uint64_t serial = *serial_of(checker, checker->call->pblock, parameter);
	union value expected, got;
	char text[VALUE_TEXT];
	bool same;

	make_value(&expected, text, parameter, serial);
	memset(&got, 0xa5, sizeof(got));
	if (slapi_pblock_get(checker->pblocks[checker->call->pblock], (int)parameter->number,
			     &got) != 0)
		return stop(checker, "the get fails");
	same = is_same(parameter, &expected, &got);
	if (same && is_copied_by_get(parameter->kind))
		slab_mfree(got.string);
	return same || stop(checker, serial ? "get gives something else than what was set last"
					    : "get gives something else than the default");
}

static void forget(struct checker *checker, uint32_t pblock)
{
	memset(serial_of(checker, pblock, parameters), 0,
	       parameters_count * sizeof(*checker->serials));
}

static bool clone(struct checker *checker)
{
	uint32_t from = checker->call->pblock, to = checker->call->clone;

	checker->pblocks[to] = slapi_pblock_clone(checker->pblocks[from]);
	if (!checker->pblocks[to])
		return stop(checker, "the clone fails");
	for (size_t i = 0; i < parameters_count; i++) {
		*serial_of(checker, to, &parameters[i]) = *serial_of(checker, from, &parameters[i]);
		if (moves(&parameters[i]))
			*serial_of(checker, from, &parameters[i]) = 0;
	}
	return true;
}

static bool begin(struct checker *checker)
{
	checker->pblocks[checker->call->pblock] = slapi_pblock_new();
	forget(checker, checker->call->pblock);
	return checker->pblocks[checker->call->pblock] || stop(checker, "the new fails");
}

static bool end(struct checker *checker)
{
	Slapi_PBlock **pblock = &checker->pblocks[checker->call->pblock];

	if (checker->call->verb == VERB_INIT) {
		slapi_pblock_init(*pblock);
	} else {
		slapi_pblock_destroy(*pblock);
		*pblock = NULL;
	}
	forget(checker, checker->call->pblock);
	return true;
}

static bool make_call(struct checker *checker)
{
	switch (checker->call->verb) {
	case VERB_NEW:
		return begin(checker);
	case VERB_SET:
		return set(checker);
	case VERB_GET:
		return get(checker);
	case VERB_CLONE:
		return clone(checker);
	default:
		return end(checker);
	}
}

static bool replay_check(const struct trace *trace)
{
	struct checker checker = {.trace = trace};
	bool done = true;

	checker.pblocks = calloc(trace->pblocks + 1, sizeof(Slapi_PBlock *));
	checker.serials = calloc(trace->pblocks * parameters_count + 1, sizeof(uint64_t));
	if (!checker.pblocks || !checker.serials) {
		fail("%s: no memory for %" PRIu32 " pblocks", trace->path, trace->pblocks);
		done = false;
	}
	for (size_t i = 0; done && i < trace->count; i++) {
		checker.call = &trace->calls[i];
		done = make_call(&checker);
	}
	for (uint32_t i = 0; checker.pblocks && i < trace->pblocks; i++)
		slapi_pblock_destroy(checker.pblocks[i]);
	free(checker.pblocks);
	free(checker.serials);
	return done;
}

/* --- the timed rounds ----------------------------------------------------------------------- */

/*
 * The timed rounds of a replay. All arguments are prepared before, so a round is only a loop over
 * calls. The exception are strings that a pblock takes over: each set allocates one.
 */

/* The variable that sets read their values from: it has room for every type. */
static struct slapi_pblock_address variable;
static char string[] = "string";

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void timed_set(Slapi_PBlock *pblock, const struct parameter *parameter)
{
	void *value = &variable;

	if (parameter->kind == KIND_OWNED || parameter->kind == KIND_OWNED_COPY)
		value = slab_ch_strdup(string);
	else if (parameter->kind == KIND_TEXT || parameter->kind == KIND_TEXT_COPY)
		value = string;
	slapi_pblock_set(pblock, (int)parameter->number, value);
}

static void timed_get(Slapi_PBlock *pblock, const struct parameter *parameter)
{
	struct slapi_pblock_address value = {{0}};

	slapi_pblock_get(pblock, (int)parameter->number, &value);
	if (parameter->kind == KIND_OWNED_COPY || parameter->kind == KIND_TEXT_COPY)
		slab_mfree((void *)(uintptr_t)value.words[0]);
}

static void replay(const struct trace *trace, Slapi_PBlock **pblocks)
{
	for (size_t i = 0; i < trace->count; i++) {
		const struct call *call = &trace->calls[i];
		Slapi_PBlock **pblock = &pblocks[call->pblock];

		switch (call->verb) {
		case VERB_NEW:
			*pblock = slapi_pblock_new();
			break;
		case VERB_INIT:
			slapi_pblock_init(*pblock);
			break;
		case VERB_SET:
			timed_set(*pblock, call->parameter);
			break;
		case VERB_GET:
			timed_get(*pblock, call->parameter);
			break;
		case VERB_CLONE:
			pblocks[call->clone] = slapi_pblock_clone(*pblock);
			break;
		default:
			slapi_pblock_destroy(*pblock);
		}
	}
}

/* The nanoseconds of a round; less than 0 after fail() has reported a lack of memory. */
static double replay_measure(const struct trace *trace, uint64_t rounds)
{
	Slapi_PBlock **pblocks = calloc(trace->pblocks + 1, sizeof(Slapi_PBlock *));
	double start, end;

	if (!pblocks) {
		fail("%s: no memory for its pblocks", trace->path);
		return -1;
	}
	/* A value that is never a default, since setting a default may store nothing. */
	for (size_t i = 0; i < sizeof(variable.words) / sizeof(variable.words[0]); i++)
		variable.words[i] = UINT64_C(0x0101010101010101);
	start = now_ns();
	for (uint64_t i = 0; i < rounds; i++)
		replay(trace, pblocks);
	end = now_ns();
	free(pblocks);
	return (end - start) / (double)rounds;
}

/* --- the program ----------------------------------------------------------------------------- */

#define ROUNDS 1000
#define ROUNDS_MAX UINT64_C(1000000000)

static const char help_text[] =
	"usage: pblock-replay [--rounds=N] TRACE...    pblock-replay(1)\n"
	"Repeat what a program did with its pblocks: once to check the result of every get,\n"
	"then --rounds times to measure.\n"
	"  --rounds=N   number of timed rounds, 1 to 10^9; default 1000\n"
	"  -h --help  --version\n"
	"Exit status: 0 done, 1 a pblock did not do what it should, 2 bad usage, bad trace\n";

static bool read_rounds(const char *text, uint64_t *ret)
{
	char *end;

	*ret = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && *ret && *ret <= ROUNDS_MAX;
}

static void print_row(const struct trace *trace, double ns)
{
	const char *slash = strrchr(trace->path, '/');

	printf("%8zu %8zu %8zu %10.2f %8.2f  %s\n",
	       trace->verbs[VERB_NEW] + trace->verbs[VERB_CLONE], trace->verbs[VERB_GET],
	       trace->verbs[VERB_SET], ns / 1000, ns / (double)trace->count,
	       slash ? slash + 1 : trace->path);
}

static int replay_one(const struct trace *trace, uint64_t rounds)
{
	double ns;

	if (!replay_check(trace))
		return EXIT_NOTHING;
	ns = replay_measure(trace, rounds);
	if (ns < 0)
		return EXIT_USAGE;
	print_row(trace, ns);
	return EXIT_DONE;
}

static int replay_all(char **paths, const char *value)
{
	uint64_t rounds = ROUNDS;
	int status = EXIT_DONE;

	if (value && !read_rounds(value, &rounds)) {
		fail("%s: rounds are a number from 1 to 1000000000; see pblock-replay --help",
		     value);
		return EXIT_USAGE;
	}
	printf("%8s %8s %8s %10s %8s  %s\n", "pblocks", "gets", "sets", "us/round", "ns/call",
	       "trace");
	for (; *paths && status == EXIT_DONE; paths++) {
		struct trace trace;

		status = trace_read(&trace, *paths) ? replay_one(&trace, rounds) : EXIT_USAGE;
		trace_free(&trace);
	}
	return status;
}

const struct tool tool = {
	.name = "pblock-replay",
	.help = help_text,
	.option = "rounds",
	.run = replay_all,
};
