/* SPDX-License-Identifier: MIT */
#include "type_files.h"
#include "type_names.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "token-"
#define DIGITS 16u

struct type_files {
	struct type_names *names;
	char **path;
	size_t count;
	size_t read; /* of the paths: their names are known */
	pid_t pid; /* 0: none */
};

struct type_files *type_files_new(void)
{
	struct type_files *files = calloc(1, sizeof(*files));

	if (files && (files->names = type_names_new()))
		return files;
	free(files);
	return NULL;
}

void type_files_free(struct type_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->path[i]);
	free(files->path);
	type_names_free(files->names);
	free(files);
}

void type_files_add(struct type_files *files, const char *path)
{
	char **grown = files->path;

	for (size_t i = 0; i < files->count; i++)
		if (strcmp(files->path[i], path) == 0)
			return;
	if ((files->count & (files->count + 1)) == 0)
		grown = realloc(grown, 2 * (files->count + 1) * sizeof(*grown));
	if (!grown)
		return;
	files->path = grown;
	files->path[files->count] = strdup(path);
	files->count += files->path[files->count] != NULL;
}

static void add_mapped(struct type_files *files)
{
	char name[64], line[PATH_MAX + 128], *path;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)files->pid);
	maps = files->pid ? fopen(name, "re") : NULL;
	while (maps && fgets(line, sizeof(line), maps)) {
		line[strcspn(line, "\n")] = '\0';
		path = strchr(line, '/');
		if (path)
			type_files_add(files, path);
	}
	if (maps)
		fclose(maps);
}

void type_files_add_process(struct type_files *files, pid_t pid)
{
	files->pid = pid;
	add_mapped(files);
}

static const char *name_of(struct type_files *files, uint64_t token, char text[64])
{
	const char *name = type_names_find(files->names, token, text);

	if (name)
		return name;
	add_mapped(files);
	for (; files->read < files->count; files->read++)
		type_names_add_file(files->names, files->path[files->read]);
	return type_names_find(files->names, token, text);
}

void type_files_print(struct type_files *files, const char *from, const char *end, FILE *out)
{
	const size_t length = strlen(PREFIX);
	const char *at = from, *name;
	char text[64], digits[DIGITS + 1] = "";

	while ((at = memmem(at, (size_t)(end - at), PREFIX, length))) {
		at += length;
		if (end - at < (ptrdiff_t)DIGITS)
			break;
		memcpy(digits, at, DIGITS);
		if (strspn(digits, "0123456789ABCDEF") != DIGITS)
			continue;
		name = name_of(files, strtoull(digits, NULL, 16), text);
		if (!name)
			continue;
		fwrite(from, 1, (size_t)(at - length - from), out);
		fputs(name, out);
		from = at += DIGITS;
	}
	fwrite(from, 1, (size_t)(end - from), out);
}
