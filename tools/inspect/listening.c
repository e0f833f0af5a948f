/* SPDX-License-Identifier: MIT */
/*
 * /proc/PID/net/unix has the names of sockets, and /proc/PID/fd says which of them the process holds. So
 * neither its files nor its settings are looked at, which a container controls, and no place is guessed.
 */
#include "listening.h"
#include "printable.h"
#include "proc.h"

#define FLAG_LISTENS 0x10000u /* __SO_ACCEPTCON */

/* Does the process hold the socket with this inode? */
static bool holds(pid_t pid, uint64_t inode)
{
	char path[64], link[32], wanted[64], target[PATH_MAX];
	const struct dirent *entry;
	bool found = false;
	DIR *list;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	snprintf(wanted, sizeof(wanted), "socket:[%" PRIu64 "]", inode);
	list = opendir(path);
	while (list && !found && (entry = readdir(list))) {
		snprintf(link, sizeof(link), "fd/%.16s", entry->d_name);
		found = proc_link(pid, link, target) && strcmp(target, wanted) == 0;
	}
	if (list)
		closedir(list);
	return found;
}

static bool ends_with(const char *text, const char *end)
{
	const size_t length = strlen(text), tail = strlen(end);

	return length >= tail && strcmp(text + length - tail, end) == 0;
}

bool listening_path(pid_t pid, char path[PATH_MAX])
{
	char name[64], end[64], *line = NULL;
	bool found = false;
	size_t room = 0;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/net/unix", pid);
	snprintf(end, sizeof(end), "/slab/%d.sock", proc_inner_pid(pid));
	file = fopen(name, "re");
	while (file && !found && getline(&line, &room, file) > 0) {
		uint64_t inode;
		unsigned flags;
		int at = 0;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%*s %*x %*x %x %*x %*x %" SCNu64 " %n", &flags, &inode, &at) ==
			    2 &&
		    at && flags & FLAG_LISTENS && line[at] == '/' && ends_with(line + at, end) &&
		    is_printable(line + at) && holds(pid, inode))
			found = snprintf(path, PATH_MAX, "/proc/%d/root%s", pid, line + at) <
				PATH_MAX;
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}
