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

/* The path of the line NUMBER:CONTROLLERS:PATH of /proc/self/cgroup; version 2 has no controllers
 * there. */
static const char *find_path(struct group_room *room, const char *controllers)
{
	const size_t length = strlen(controllers);
	char *line, *rest = room->group;

	if (!sys_file_read("/proc/self/cgroup", room->group, sizeof(room->group)))
		return NULL;
	while ((line = strsep(&rest, "\n"))) {
		const char *list = strchr(line, ':');

		if (list && strncmp(list + 1, controllers, length) == 0 && list[length + 1] == ':')
			return list + length + 2;
	}
	return NULL;
}

static bool put_path(char *path, size_t size, const char *root, const char *group)
{
	return group && snprintf(path, size, "%s%s", root, group) < (int)size;
}

bool group_find(struct group_room *room, char *path, size_t size)
{
	if (the_directory)
		return put_path(path, size, "", the_directory);
	return put_path(path, size, "/sys/fs/cgroup", find_path(room, ""));
}

bool group_find_v1(struct group_room *room, char *path, size_t size)
{
	return !the_directory &&
	       put_path(path, size, "/sys/fs/cgroup/memory", find_path(room, "memory"));
}

void group_set_directory(const char *directory)
{
	the_directory = directory;
}
