/* SPDX-License-Identifier: MIT */
/*
 * Reading what --json wrote. A file is parsed while it is read, so that one that is
 * something else is known for it early, however long it is.
 */
#include "diff.h"

#define BLOCK 65536

/* What is wrong with a document, NULL: nothing. */
static const char *check(struct json_object *document)
{
	struct json_object *caches = model_member(document, "caches");

	if (model_member(document, "slab_recording"))
		return "is a recording, which --plot draws";
	if (!json_object_is_type(caches, json_type_array))
		return "has no list of caches";
	if (model_number(document, "slab") != 2)
		return "is of another version of slabinfo";
	for (size_t i = 0; i < model_length(caches); i++) {
		if (!model_text(json_object_array_get_idx(caches, i), "name")[0])
			return "has a cache without a name";
	}
	return NULL;
}

static bool is_blank(const char *text, size_t size)
{
	while (size > 0 && isspace((unsigned char)*text)) {
		text++;
		size--;
	}
	return size == 0;
}

/* The one document of the file, or what is wrong. */
static const char *parse(struct json_tokener *tokener, FILE *file, struct json_object **document)
{
	enum json_tokener_error error = json_tokener_continue;
	size_t size, parsed, total = 0;
	char block[BLOCK];

	while (!feof(file) && !ferror(file)) {
		size = fread(block, 1, BLOCK, file);
		parsed = 0;
		total += size;
		if (error == json_tokener_continue) {
			*document = json_tokener_parse_ex(tokener, block, (int)size);
			error = json_tokener_get_error(tokener);
			parsed = json_tokener_get_parse_end(tokener);
		}
		if (error != json_tokener_continue && error != json_tokener_success)
			return "is no JSON";
		if (error == json_tokener_success && !is_blank(block + parsed, size - parsed))
			return "goes on behind its end";
	}
	if (total == 0)
		return "is empty";
	return error == json_tokener_continue ? "is incomplete" : check(*document);
}

static struct json_object *read_document(FILE *file, const char *path)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *document = NULL;
	const char *wrong;

	if (!tokener) {
		fail("no memory to read %s", path);
		return NULL;
	}
	wrong = parse(tokener, file, &document);
	json_tokener_free(tokener);
	if (ferror(file))
		fail("%s cannot be read: %s", path, strerror(errno));
	else if (wrong)
		fail("%s %s; --diff compares two files that slabinfo --json wrote", path, wrong);
	else
		return document;
	json_object_put(document);
	return NULL;
}

bool diff_read(struct diff_file *snapshot, const char *path)
{
	const bool is_stdin = strcmp(path, "-") == 0;
	FILE *file = is_stdin ? stdin : fopen(path, "re");
	struct json_object *document, *process;

	snapshot->file = is_stdin ? "standard input" : path;
	if (!file) {
		fail("%s cannot be opened: %s", path, strerror(errno));
		return false;
	}
	document = read_document(file, snapshot->file);
	if (!is_stdin)
		fclose(file);
	if (!document || !model_load(&snapshot->model, document))
		return false;
	process = model_member(document, "process");
	snapshot->pid = model_number(process, "pid");
	snapshot->command = model_text(process, "command");
	snapshot->uptime = model_number(process, "uptime");
	snapshot->now = model_number(process, "now");
	return true;
}

void diff_file_free(struct diff_file *snapshot)
{
	model_free(&snapshot->model);
}
