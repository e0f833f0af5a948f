/* SPDX-License-Identifier: MIT */
/* Reading a profile: every member of the JSON document is checked (workload.h). */
#include "workload.h"
#include "fail.h"
#include "words.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define VERSION 1
#define SIZE_MAX_READ ((size_t)1 << 30)

static const char sum_too_large[] = "its counts have a sum of more than 2^53";
static const char too_large[] = "it has more than 1 GiB";

/* Members */

static struct json_object *member(struct json_object *of, const char *name)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(of, name, &value);
	return value;
}

/* Read a count; false: the member is not a valid count. */
static bool read_count(struct json_object *of, const char *name, uint64_t *ret)
{
	struct json_object *value = member(of, name);
	int64_t number = json_object_get_int64(value);

	if (!json_object_is_type(value, json_type_int) || number < 0 ||
	    (uint64_t)number > COUNT_MAX)
		return false;
	*ret = (uint64_t)number;
	return true;
}

static bool bad(const struct workload *workload, const char *what)
{
	fail("%s is no profile of pblocks: %s", workload->path, what);
	return false;
}

/* Kinds */

const struct use *kind_use(const struct kind_of_life *kind, uint32_t number)
{
	for (size_t i = 0; i < kind->count; i++) {
		if (kind->uses[i].number == number)
			return &kind->uses[i];
	}
	return NULL;
}

static bool read_use(struct json_object *from, struct kind_of_life *kind)
{
	struct use *use = &kind->uses[kind->count];
	uint64_t number;

	if (!read_count(from, "parameter", &number) || number >= SLAB_PBLOCK_NUMBERS ||
	    !read_count(from, "gets", &use->gets) || !read_count(from, "sets", &use->sets))
		return false;
	if (kind_use(kind, (uint32_t)number))
		return false;
	use->number = (uint32_t)number;
	kind->count++;
	return true;
}

static bool read_uses(struct workload *workload, struct json_object *list,
		      struct kind_of_life *kind)
{
	size_t length = json_object_array_length(list);

	kind->uses = calloc(length + 1, sizeof(*kind->uses));
	if (!kind->uses) {
		fail("no memory for %zu parameters", length);
		return false;
	}
	for (size_t i = 0; i < length; i++) {
		if (!read_use(json_object_array_get_idx(list, i), kind))
			return bad(workload, "a parameter needs a number of its own below 2048, "
					     "gets and sets");
		workload->gets += kind->uses[i].gets;
		workload->sets += kind->uses[i].sets;
		if (workload->gets > COUNT_MAX || workload->sets > COUNT_MAX)
			return bad(workload, sum_too_large);
	}
	return true;
}

static bool read_kind(struct workload *workload, struct json_object *from)
{
	struct kind_of_life *kind = &workload->kinds[workload->count++];
	struct json_object *uses = member(from, "parameters"), *whole = member(from, "whole");

	if (!read_count(from, "pblocks", &kind->pblocks) ||
	    !json_object_is_type(whole, json_type_boolean) ||
	    !json_object_is_type(uses, json_type_array))
		return bad(workload, "a kind needs pblocks, whole and parameters");
	kind->whole = json_object_get_boolean(whole);
	if (kind->whole)
		workload->pblocks += kind->pblocks;
	if (workload->pblocks > COUNT_MAX)
		return bad(workload, sum_too_large);
	return read_uses(workload, uses, kind);
}

static bool read_kinds(struct workload *workload, struct json_object *list)
{
	size_t length = json_object_array_length(list);

	workload->kinds = calloc(length + 1, sizeof(*workload->kinds));
	if (!workload->kinds) {
		fail("no memory for %zu kinds of pblocks", length);
		return false;
	}
	for (size_t i = 0; i < length; i++) {
		if (!read_kind(workload, json_object_array_get_idx(list, i)))
			return false;
	}
	return true;
}

static bool read_document(struct workload *workload, struct json_object *document)
{
	struct json_object *kinds = member(document, "kinds");
	uint64_t version, dropped_accesses;

	if (!read_count(document, "pblock_profile", &version))
		return bad(workload, "it has no pblock_profile");
	if (version != VERSION) {
		fail("%s is of version %" PRIu64 " of the format; this program reads version %d",
		     workload->path, version, VERSION);
		return false;
	}
	if (!read_count(document, "earlier", &workload->earlier) ||
	    !read_count(document, "dropped_pblocks", &workload->dropped) ||
	    !read_count(document, "dropped_accesses", &dropped_accesses))
		return bad(workload, "earlier, dropped_pblocks and dropped_accesses are counts");
	workload->dropped += dropped_accesses;
	if (!json_object_is_type(kinds, json_type_array))
		return bad(workload, "it has no kinds");
	return read_kinds(workload, kinds);
}

/* Files */

static char *read_text(FILE *file, size_t *ret_size)
{
	size_t size = 0, room = 1 << 16;
	char *text = malloc(room), *larger;

	while (text && size <= SIZE_MAX_READ && !feof(file) && !ferror(file)) {
		size += fread(text + size, 1, room - size, file);
		if (size < room)
			continue;
		room *= 2;
		larger = realloc(text, room);
		if (!larger)
			free(text);
		text = larger;
	}
	*ret_size = size;
	return text;
}

/* Do only blanks follow the object? */
static bool is_all(struct json_tokener *tokener, const char *text, size_t size)
{
	size_t end = json_tokener_get_parse_end(tokener);

	while (end < size && text[end] && strchr(" \t\r\n", text[end]))
		end++;
	return end == size;
}

static bool read_json(struct workload *workload, struct json_tokener *tokener, const char *text,
		      size_t size)
{
	struct json_object *document = json_tokener_parse_ex(tokener, text, (int)size);
	bool done = false;

	if (!json_object_is_type(document, json_type_object))
		bad(workload, "it is no JSON object");
	else if (!is_all(tokener, text, size))
		bad(workload, "something is behind the JSON object");
	else
		done = read_document(workload, document);
	json_object_put(document);
	return done;
}

/* Does its size show that the file is too large? Then it is not read at all. */
static bool is_too_large(FILE *file)
{
	struct stat stat;

	return fstat(fileno(file), &stat) == 0 && stat.st_size > (off_t)SIZE_MAX_READ;
}

static bool read_file(struct workload *workload, FILE *file)
{
	struct json_tokener *tokener;
	bool done = false;
	size_t size;
	char *text;

	if (is_too_large(file))
		return bad(workload, too_large);
	tokener = json_tokener_new();
	text = read_text(file, &size);

	if (ferror(file)) {
		fail("%s cannot be read: %s", workload->path, strerror(errno));
	} else if (!text || !tokener) {
		fail("no memory for %s", workload->path);
	} else if (size > SIZE_MAX_READ) {
		bad(workload, too_large);
	} else {
		done = read_json(workload, tokener, text, size);
	}
	if (tokener)
		json_tokener_free(tokener);
	free(text);
	return done;
}

bool workload_read(struct workload *workload, const char *path)
{
	FILE *file = fopen(path, "r");
	bool done = false;

	*workload = (struct workload){.path = path, .name = name_of_file(path, ".json")};
	if (!file)
		fail("%s cannot be read: %s", path, strerror(errno));
	else if (!workload->name)
		fail("no memory for %s", path);
	else
		done = read_file(workload, file);
	if (file)
		fclose(file);
	return done;
}

void workload_free(struct workload *workload)
{
	for (size_t i = 0; i < workload->count; i++)
		free(workload->kinds[i].uses);
	free(workload->kinds);
	free(workload->name);
}
