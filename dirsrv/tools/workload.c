/* SPDX-License-Identifier: MIT */
/* Reading a profile: every member of the JSON document is checked (workload.h). */
#include "workload.h"
#include "fail.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERSION 1
#define COUNT_MAX (UINT64_C(1) << 53) /* JSON readers keep larger numbers inexactly */

static bool bad(const struct workload *workload, const char *what)
{
	fail("%s is no profile of pblocks: %s", workload->path, what);
	return false;
}

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

	*ret = (uint64_t)number;
	return json_object_is_type(value, json_type_int) && number >= 0 && *ret <= COUNT_MAX;
}

static bool read_use(struct json_object *from, struct kind_of_life *kind)
{
	struct use *use = &kind->uses[kind->count];
	uint64_t number;

	if (!read_count(from, "parameter", &number) || number >= SLAB_PBLOCK_NUMBERS ||
	    !read_count(from, "gets", &use->gets) || !read_count(from, "sets", &use->sets))
		return false;
	use->number = (uint32_t)number;
	for (size_t i = 0; i < kind->count; i++) {
		if (kind->uses[i].number == use->number)
			return false;
	}
	kind->count++;
	return true;
}

static bool read_uses(struct workload *workload, struct json_object *list,
		      struct kind_of_life *kind)
{
	size_t length = json_object_array_length(list);

	kind->uses = calloc(length + 1, sizeof(*kind->uses));
	if (!kind->uses)
		return bad(workload, "no memory for a kind's parameters");
	for (size_t i = 0; i < length; i++) {
		if (!read_use(json_object_array_get_idx(list, i), kind))
			return bad(workload, "a parameter needs a number of its own below 2048, "
					     "gets and sets");
		workload->gets += kind->uses[i].gets;
		workload->sets += kind->uses[i].sets;
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
	workload->pblocks += kind->whole ? kind->pblocks : 0;
	return read_uses(workload, uses, kind);
}

static bool read_kinds(struct workload *workload, struct json_object *list)
{
	size_t length = json_object_array_length(list);

	workload->kinds = calloc(length + 1, sizeof(*workload->kinds));
	if (!workload->kinds)
		return bad(workload, "no memory for its kinds");
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

bool workload_read(struct workload *workload, const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	struct json_object *document;
	bool done = false;

	*workload = (struct workload){.path = path};
	if (file < 0) {
		fail("%s cannot be read: %s", path, strerror(errno));
		return false;
	}
	document = json_object_from_fd(file);
	if (json_object_is_type(document, json_type_object))
		done = read_document(workload, document);
	else
		bad(workload, "it is no JSON object");
	json_object_put(document);
	close(file);
	return done;
}

void workload_free(struct workload *workload)
{
	for (size_t i = 0; i < workload->count; i++)
		free(workload->kinds[i].uses);
	free(workload->kinds);
}
