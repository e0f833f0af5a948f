/* SPDX-License-Identifier: MIT */
/* The files of the process, looked through once, when its first type without a name appears. */
#include "types.h"
#include "memory.h"
#include "type_names.h"

#include <errno.h>
#include <string.h>

static struct type_names *names;
static bool has_files;

static void add_files(const struct process *process)
{
	const char *path, *before = "";

	for (size_t i = 0; (path = memory_file(process->memory, i)); i++) {
		if (strcmp(path, before) != 0)
			type_names_add_file(names, path);
		before = path;
	}
}

const char *types_find(struct process *process, uint64_t token, char text[64])
{
	if (!has_files && process->memory)
		add_files(process);
	has_files = true;
	return type_names_find(names, token, text);
}

bool types_begin(const char *list)
{
	names = type_names_new();
	if (!names)
		return true;
	attach_name_types(types_find);
	if (!list || type_names_add_list(names, list))
		return true;
	fail("%s cannot be read: %s", list, strerror(errno));
	return false;
}

void types_end(void)
{
	type_names_free(names);
	names = NULL;
}
