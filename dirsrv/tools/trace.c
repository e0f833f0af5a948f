/* SPDX-License-Identifier: MIT */
/* Reading a trace, line by line; each error names the line. The table of parameters. */
#include "trace.h"

#include "fail.h"

#include <slab/dirsrv/pblock.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the table of parameters, made from the library's parameters.def ------------------------ */

#define POINTER_SIZE 8
#define INT_SIZE 4
#define ADDRESS_SIZE sizeof(struct slapi_pblock_address)

#define SIZE_OF_POINTER POINTER_SIZE
#define SIZE_OF_INT INT_SIZE
#define SIZE_OF_WORD POINTER_SIZE
#define SIZE_OF_PRESET INT_SIZE
#define SIZE_OF_OWNED POINTER_SIZE
#define SIZE_OF_OWNED_COPY POINTER_SIZE
#define SIZE_OF_TEXT POINTER_SIZE
#define SIZE_OF_TEXT_COPY POINTER_SIZE
#define SIZE_OF_ADDRESS ADDRESS_SIZE

#define PBLOCK_PART(part)
#define PBLOCK_END(part)
#define PBLOCK_PARAMETER(number, name, kind, group, part, preset)                                  \
	{number, "SLAPI_" #name, KIND_##kind, GROUP_##group, SIZE_OF_##kind, preset},

const struct parameter parameters[] = {
#include PBLOCK_PARAMETERS_DEF
};

const size_t parameters_count = sizeof(parameters) / sizeof(parameters[0]);

/* The parameter with this number; NULL: there is none. */
static const struct parameter *parameter_find(uint32_t number)
{
	for (size_t i = 0; i < parameters_count; i++) {
		if (parameters[i].number == number)
			return &parameters[i];
	}
	return NULL;
}

const char *group_name(enum group group)
{
	static const char *const names[GROUPS] = {
		"pblock",     "callback", "pb_plugin",     "pb_op",   "pb_conn",
		"pb_backend", "pb_intop", "pb_intplugin",  "pb_misc", "pb_task",
		"pb_mr",      "pb_dse",   "pb_deprecated",
	};

	return names[group];
}

/* --- traces --------------------------------------------------------------------------------- */

#define WORDS 4 /* one more than any valid line has, to detect longer lines */
#define WORD_MAX_SHOWN 64
#define WEIGHT_MAX 1000000000

struct reader {
	struct trace *trace;
	uint32_t line;
};

static const struct {
	const char *word;
	size_t words; /* of the line */
} verbs[VERBS] = {
	[VERB_NEW] = {"new", 2}, [VERB_INIT] = {"init", 2},   [VERB_SET] = {"set", 3},
	[VERB_GET] = {"get", 3}, [VERB_CLONE] = {"clone", 3}, [VERB_DESTROY] = {"destroy", 2},
};

static bool wrong(const struct reader *reader, const char *word, const char *what)
{
	fail("%s:%" PRIu32 ": \"%.*s\" %s", reader->trace->path, reader->line, WORD_MAX_SHOWN, word,
	     what);
	return false;
}

static bool read_number(const char *word, unsigned long most, uint32_t *ret)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(word, &end, 10);
	*ret = (uint32_t)number;
	return *word >= '0' && *word <= '9' && !*end && !errno && number <= most;
}

static bool read_begin(struct reader *reader, const char *word, uint32_t *ret)
{
	struct trace *trace = reader->trace;

	if (!read_number(word, PBLOCKS_MAX, ret))
		return wrong(reader, word, "is no pblock: these are numbers up to 1000000");
	if (trace->alive[*ret])
		return wrong(reader, word, "is there already: destroy it before");
	trace->alive[*ret] = reader->line;
	if (*ret >= trace->pblocks)
		trace->pblocks = *ret + 1;
	return true;
}

static bool read_existing(struct reader *reader, const char *word, uint32_t *ret)
{
	if (read_number(word, PBLOCKS_MAX, ret) && reader->trace->alive[*ret])
		return true;
	return wrong(reader, word, "is no pblock: it begins by new or clone");
}

static bool read_parameter(struct reader *reader, const char *word, struct call *call)
{
	uint32_t number;

	if (read_number(word, SLAB_PBLOCK_NUMBERS - 1, &number))
		call->parameter = parameter_find(number);
	return call->parameter || wrong(reader, word, "is no parameter of <slab/dirsrv/pblock.h>");
}

static bool read_arguments(struct reader *reader, char **words, struct call *call)
{
	if (call->verb == VERB_NEW)
		return read_begin(reader, words[1], &call->pblock);
	if (!read_existing(reader, words[1], &call->pblock))
		return false;
	switch (call->verb) {
	case VERB_SET:
	case VERB_GET:
		return read_parameter(reader, words[2], call);
	case VERB_CLONE:
		return read_begin(reader, words[2], &call->clone);
	case VERB_DESTROY:
		reader->trace->alive[call->pblock] = 0;
		return true;
	default:
		return true;
	}
}

static bool add_call(struct trace *trace, const struct call *call)
{
	size_t room = trace->room ? trace->room * 2 : 256;
	struct call *calls;

	if (trace->count == trace->room) {
		calls = realloc(trace->calls, room * sizeof(*calls));
		if (!calls) {
			fail("%s: no memory", trace->path);
			return false;
		}
		trace->calls = calls;
		trace->room = room;
	}
	trace->calls[trace->count++] = *call;
	trace->verbs[call->verb]++;
	return true;
}

/* How often the trace happens, before the first call. */
static bool read_weight(struct reader *reader, char **words, size_t count)
{
	uint32_t weight;

	if (count != 2 || reader->trace->count || !read_number(words[1], WEIGHT_MAX, &weight))
		return wrong(reader, words[0], "is a number up to 10^9, before the first call");
	reader->trace->weight = weight;
	return true;
}

static bool read_line(struct reader *reader, char *line)
{
	char *words[WORDS] = {NULL}, *rest = line, *word;
	struct call call = {.line = reader->line};
	size_t count = 0;

	line[strcspn(line, "#\n")] = '\0';
	while (count < WORDS && (word = strtok_r(rest, " \t\r", &rest)))
		words[count++] = word;
	if (count == 0)
		return true;
	if (strcmp(words[0], "weight") == 0)
		return read_weight(reader, words, count);
	while (call.verb < VERBS && strcmp(words[0], verbs[call.verb].word) != 0)
		call.verb++;
	if (call.verb == VERBS)
		return wrong(reader, words[0], "is no call: new, init, set, get, clone or destroy");
	if (count != verbs[call.verb].words)
		return wrong(reader, words[0],
			     verbs[call.verb].words == 3 ? "wants two numbers"
							 : "wants one number");
	return read_arguments(reader, words, &call) && add_call(reader->trace, &call);
}

static bool read_lines(struct reader *reader, FILE *file)
{
	char *line = NULL;
	size_t size = 0;
	bool done = true;

	while (done && getline(&line, &size, file) > 0) {
		reader->line++;
		done = read_line(reader, line);
	}
	free(line);
	if (done && ferror(file)) {
		fail("%s cannot be read: %s", reader->trace->path, strerror(errno));
		done = false;
	}
	return done;
}

static bool check_end(const struct trace *trace)
{
	for (uint32_t i = 0; i < trace->pblocks; i++) {
		if (trace->alive[i]) {
			fail("%s:%" PRIu32 ": %" PRIu32 " is never destroyed", trace->path,
			     trace->alive[i], i);
			return false;
		}
	}
	if (trace->count == 0)
		fail("%s: a trace has at least one call", trace->path);
	return trace->count > 0;
}

bool trace_read(struct trace *trace, const char *path)
{
	struct reader reader = {.trace = trace};
	FILE *file = fopen(path, "r");
	bool done = false;

	*trace = (struct trace){.path = path, .weight = 1};
	if (!file) {
		fail("%s cannot be read: %s", path, strerror(errno));
		return false;
	}
	trace->alive = calloc(PBLOCKS_MAX + 1, sizeof(*trace->alive));
	if (trace->alive)
		done = read_lines(&reader, file) && check_end(trace);
	else
		fail("%s: no memory", path);
	fclose(file);
	return done;
}

void trace_free(struct trace *trace)
{
	free(trace->alive);
	free(trace->calls);
}
