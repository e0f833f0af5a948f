/* SPDX-License-Identifier: MIT */
#include "aliases.h"
#include "memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "token-"
#define DIGITS 16u
#define NAME_BYTES 96u

struct aliases {
	struct alias {
		char real[NAME_BYTES], shown[NAME_BYTES];
	} *list;
	size_t count;
};

static type_namer *namer;

void attach_name_types(type_namer *function)
{
	namer = function;
}

/* "token-D5D5177A51D2519E" or "token-D5D5177A51D2519E-96". */
static bool is_token(const char *name, uint64_t *ret_token)
{
	const char *digits = name + strlen(PREFIX);
	char *end;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strlen(name) >= NAME_BYTES - DIGITS)
		return false;
	*ret_token = strtoull(digits, &end, 16);
	return end == digits + DIGITS && (!*end || *end == '-');
}

/* By the process's name, or by the one that is shown. */
static struct alias *find(const struct aliases *aliases, const char *real, const char *shown)
{
	for (size_t i = 0; aliases && i < aliases->count; i++)
		if ((real && strcmp(aliases->list[i].real, real) == 0) ||
		    (shown && strcmp(aliases->list[i].shown, shown) == 0))
			return &aliases->list[i];
	return NULL;
}

static bool is_taken(const struct aliases *aliases, struct json_object *answer, const char *shown)
{
	struct json_object *caches = NULL, *name;

	json_object_object_get_ex(answer, "caches", &caches);
	if (!json_object_is_type(caches, json_type_array))
		return find(aliases, NULL, shown);
	for (size_t i = 0; i < json_object_array_length(caches); i++)
		if (json_object_object_get_ex(json_object_array_get_idx(caches, i), "name",
					      &name) &&
		    strcmp(json_object_get_string(name), shown) == 0)
			return true;
	return find(aliases, NULL, shown);
}

/* The alias of a cache; NULL: its type has no name. */
static const struct alias *alias_of(struct process *process, struct json_object *answer,
				    const char *real)
{
	struct aliases *aliases = process->aliases;
	struct alias *grown, *alias = find(aliases, real, NULL);
	const char *suffix, *type;
	char text[64];
	uint64_t token;

	if (alias || !is_token(real, &token))
		return alias;
	type = namer(process, token, text);
	grown = type ? realloc(aliases->list, (aliases->count + 1) * sizeof(*grown)) : NULL;
	if (!grown)
		return NULL;
	aliases->list = grown;
	alias = &grown[aliases->count];
	suffix = real + strlen(PREFIX) + DIGITS;
	snprintf(alias->real, NAME_BYTES, "%s", real);
	snprintf(alias->shown, NAME_BYTES, "%s%s", type, suffix);
	/* A cache that the program created may have the type's name. */
	if (is_taken(aliases, answer, alias->shown))
		snprintf(alias->shown, NAME_BYTES, "%s@token%s", type, suffix);
	aliases->count++;
	return alias;
}

static void show(struct process *process, struct json_object *answer, struct json_object *value)
{
	const struct alias *alias;

	if (json_object_is_type(value, json_type_object)) {
		struct json_object_iterator it = json_object_iter_begin(value),
					    end = json_object_iter_end(value);

		for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it))
			show(process, answer, json_object_iter_peek_value(&it));
	} else if (json_object_is_type(value, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(value); i++)
			show(process, answer, json_object_array_get_idx(value, i));
	} else if (json_object_is_type(value, json_type_string)) {
		const char *text = json_object_get_string(value);

		alias = strncmp(text, PREFIX, strlen(PREFIX)) == 0 ? alias_of(process, answer, text)
								   : NULL;
		if (alias)
			json_object_set_string(value, alias->shown);
	}
}

void aliases_show(struct process *process, struct json_object *answer)
{
	if (namer && !process->aliases)
		process->aliases = calloc(1, sizeof(*process->aliases));
	if (namer && process->aliases && answer)
		show(process, answer, answer);
}

const char *aliases_real(const struct process *process, const char *name)
{
	const struct alias *alias = name ? find(process->aliases, NULL, name) : NULL;

	return alias ? alias->real : name;
}

void aliases_free(struct process *process)
{
	if (process->aliases)
		free(process->aliases->list);
	free(process->aliases);
	process->aliases = NULL;
}
