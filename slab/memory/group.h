/* SPDX-License-Identifier: MIT */
/* The process's control group: where its files are. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define GROUP_TEXT_MAX 4096

/* The room that one look takes: too much for the stack of a program's thread. */
struct group_room {
	char path[PATH_MAX], text[GROUP_TEXT_MAX], group[GROUP_TEXT_MAX];
};

/* Read a file into room->text. false: there is none, or it is empty. */
bool group_read_path(struct group_room *room, const char *path);
/* The group's directory (version 2). */
bool group_find(struct group_room *room, char *path, size_t size);
/* The directory of the group's memory in version 1. */
bool group_find_v1(struct group_room *room, char *path, size_t size);

/* For tests: the group of version 2 has this directory, and there is no other one. NULL: the
 * system's. */
void group_set_directory(const char *directory);
