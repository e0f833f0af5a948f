/* SPDX-License-Identifier: MIT */
/* Reading a trace, line by line; each error names the line (trace.h). */
#include "trace.h"
#include "fail.h"
#include "printable.h"
#include "words.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 4 /* one more than any valid line has, to detect longer lines */
#define NAME_MAX_SHOWN 64
#define WEIGHT_MAX UINT64_C(1000000000000)

struct name {
	const char *text;
	uint32_t index;
};

struct reader {
	struct trace *trace;
	uint32_t line;
	void *names; /* tree of struct name */
};

struct verb_rule {
	const char *word;
	size_t words; /* of the line */
};

static const struct verb_rule verbs[VERBS] = {
	[VERB_NEW] = {"new", 2}, [VERB_INIT] = {"init", 2},   [VERB_SET] = {"set", 3},
	[VERB_GET] = {"get", 3}, [VERB_CLONE] = {"clone", 3}, [VERB_DESTROY] = {"destroy", 2},
};

static bool wrong(const struct reader *reader, const char *what, const char *word)
{
	fail("%s:%" PRIu32 ": \"%.*s\" %s", reader->trace->path, reader->line, NAME_MAX_SHOWN, word,
	     what);
	return false;
}

static bool no_memory(const struct reader *reader)
{
	fail("%s:%" PRIu32 ": no memory", reader->trace->path, reader->line);
	return false;
}

/* A decimal number up to `most`. */
static bool read_number(const char *word, uint64_t most, uint64_t *ret)
{
	uint64_t number = 0;

	if (!*word)
		return false;
	for (; *word; word++) {
		if (*word < '0' || *word > '9')
			return false;
		number = number * 10 + (uint64_t)(*word - '0');
		if (number > most)
			return false;
	}
	*ret = number;
	return true;
}

/* Names of pblocks */

static int compare_names(const void *one, const void *other)
{
	return strcmp(((const struct name *)one)->text, ((const struct name *)other)->text);
}

static bool grow_names(struct trace *trace)
{
	uint32_t room = trace->pblocks_room ? trace->pblocks_room * 2 : 16;
	uint32_t *alive;
	char **names;

	if (trace->pblocks < trace->pblocks_room)
		return true;
	names = realloc(trace->names, room * sizeof(*names));
	if (!names)
		return false;
	trace->names = names;
	alive = realloc(trace->alive, room * sizeof(*alive));
	if (!alive)
		return false;
	trace->alive = alive;
	trace->pblocks_room = room;
	return true;
}

/* Add a copy of the text to the tree. */
static bool add_name(struct reader *reader, const char *text, uint32_t *ret)
{
	struct trace *trace = reader->trace;
	struct name *name = malloc(sizeof(*name));
	char *copy = strdup(text);

	if (name && copy && grow_names(trace)) {
		*name = (struct name){copy, trace->pblocks};
		if (tsearch(name, &reader->names, compare_names)) {
			*ret = trace->pblocks++;
			trace->names[*ret] = copy;
			trace->alive[*ret] = 0;
			return true;
		}
	}
	free(name);
	free(copy);
	return no_memory(reader);
}

static bool find_name(struct reader *reader, const char *text, uint32_t *ret)
{
	struct name wanted = {.text = text};
	struct name *const *found = tfind(&wanted, &reader->names, compare_names);

	if (!found)
		return add_name(reader, text, ret);
	*ret = (*found)->index;
	return true;
}

/* Lines */

static bool read_begin(struct reader *reader, const char *text, uint32_t *ret)
{
	if (!find_name(reader, text, ret))
		return false;
	if (reader->trace->alive[*ret])
		return wrong(reader, "is there already: destroy it before", text);
	reader->trace->alive[*ret] = reader->line;
	return true;
}

static bool read_existing(struct reader *reader, const char *text, uint32_t *ret)
{
	if (!find_name(reader, text, ret))
		return false;
	if (!reader->trace->alive[*ret])
		return wrong(reader, "is no pblock: it begins by new or clone", text);
	return true;
}

static bool read_parameter(struct reader *reader, const char *text, struct call *call)
{
	uint64_t number;

	if (!read_number(text, SLAB_PBLOCK_NUMBERS - 1, &number))
		return wrong(reader, "is no parameter: these are numbers below 2048", text);
	call->parameter = parameter_find((uint32_t)number);
	if (!call->parameter)
		return wrong(reader, "is no parameter of <slab/dirsrv/pblock.h>", text);
	return true;
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

static bool add_call(struct reader *reader, const struct call *call)
{
	struct trace *trace = reader->trace;
	size_t room = trace->room ? trace->room * 2 : 256;
	struct call *calls;

	if (trace->count == trace->room) {
		calls = realloc(trace->calls, room * sizeof(*calls));
		if (!calls)
			return no_memory(reader);
		trace->calls = calls;
		trace->room = room;
	}
	trace->calls[trace->count++] = *call;
	return true;
}

static bool read_call(struct reader *reader, char **words, size_t count)
{
	struct call call = {.line = reader->line};

	while (call.verb < VERBS && strcmp(words[0], verbs[call.verb].word) != 0)
		call.verb++;
	if (call.verb == VERBS)
		return wrong(reader,
			     "is no call: new, init, set, get, clone, destroy, or before these "
			     "workload, weight",
			     words[0]);
	if (count != verbs[call.verb].words)
		return wrong(reader,
			     call.verb == VERB_CLONE ? "wants two names of pblocks"
			     : verbs[call.verb].words == 3
				     ? "wants the name of a pblock and the number of a parameter"
				     : "wants the name of a pblock",
			     words[0]);
	return read_arguments(reader, words, &call) && add_call(reader, &call);
}

/* Is it a line of the head? These come before the first call. */
static bool is_head(const struct reader *reader, char **words)
{
	return reader->trace->count == 0 &&
	       (strcmp(words[0], "workload") == 0 || strcmp(words[0], "weight") == 0);
}

static bool read_head(struct reader *reader, char **words, size_t count)
{
	struct trace *trace = reader->trace;

	if (count != 2)
		return wrong(reader, "wants one word", words[0]);
	if (strcmp(words[0], "weight") == 0) {
		if (read_number(words[1], WEIGHT_MAX, &trace->weight) && trace->weight)
			return true;
		return wrong(reader, "is no weight: a number from 1 to 10^12", words[1]);
	}
	free(trace->workload);
	trace->workload = strdup(words[1]);
	if (!trace->workload)
		return no_memory(reader);
	make_printable(trace->workload);
	return true;
}

static bool read_line(struct reader *reader, char *line)
{
	char *words[WORDS] = {NULL}, *rest = line, *word;
	size_t count = 0;

	line[strcspn(line, "#\n")] = '\0';
	while (count < WORDS && (word = strtok_r(rest, " \t\r", &rest)))
		words[count++] = word;
	if (count == 0)
		return true;
	return is_head(reader, words) ? read_head(reader, words, count)
				      : read_call(reader, words, count);
}

/* The whole */

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

static bool check_end(struct reader *reader)
{
	struct trace *trace = reader->trace;

	for (uint32_t i = 0; i < trace->pblocks; i++) {
		reader->line = trace->alive[i];
		if (trace->alive[i])
			return wrong(reader, "is never destroyed", trace->names[i]);
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

	*trace =
		(struct trace){.path = path, .workload = name_of_file(path, ".trace"), .weight = 1};
	if (!file) {
		fail("%s cannot be read: %s", path, strerror(errno));
		return false;
	}
	done = trace->workload ? read_lines(&reader, file) && check_end(&reader)
			       : no_memory(&reader);
	tdestroy(reader.names, free);
	fclose(file);
	return done;
}

void trace_free(struct trace *trace)
{
	for (uint32_t i = 0; i < trace->pblocks; i++)
		free(trace->names[i]);
	free(trace->names);
	free(trace->alive);
	free(trace->calls);
	free(trace->workload);
}

size_t trace_count(const struct trace *trace, enum verb verb)
{
	size_t count = 0;

	for (size_t i = 0; i < trace->count; i++)
		count += trace->calls[i].verb == verb;
	return count;
}
