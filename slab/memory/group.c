/* SPDX-License-Identifier: MIT */
#include "memory/group.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "sys_file.h"

static const char *the_directory; /* NULL: the system's */

bool group_read_path(struct group_room *room, const char *path)
{
	return sys_file_read(path, room->text, sizeof(room->text)) > 0;
}

/* The path behind `controllers` in /proc/self/cgroup, whose lines are NUMBER:CONTROLLERS:PATH. */
static const char *find_line(struct group_room *room, const char *controllers)
{
	char *line;

	if (!sys_file_read("/proc/self/cgroup", room->group, sizeof(room->group)))
		return NULL;
	line = strstr(room->group, controllers);
	if (!line)
		return NULL;
	line += strlen(controllers);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static bool put_path(char *path, size_t size, const char *root, const char *line)
{
	return line && snprintf(path, size, "%s%s", root, line) < (int)size;
}

bool group_find(struct group_room *room, char *path, size_t size)
{
	if (the_directory)
		return put_path(path, size, "", the_directory);
	return put_path(path, size, "/sys/fs/cgroup", find_line(room, "0::"));
}

bool group_find_v1(struct group_room *room, char *path, size_t size)
{
	return !the_directory &&
	       put_path(path, size, "/sys/fs/cgroup/memory", find_line(room, ":memory:"));
}

void group_set_directory(const char *directory)
{
	the_directory = directory;
}
