/* SPDX-License-Identifier: MIT */
#include "proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_proc(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return fopen(path, "re");
}

void proc_printable(char *text)
{
	for (; *text; text++) {
		if (iscntrl((unsigned char)*text))
			*text = '?';
	}
}

void proc_line(pid_t pid, const char *name, char *text, size_t size)
{
	FILE *file = open_proc(pid, name);

	text[0] = '\0';
	if (!file)
		return;
	if (fgets(text, (int)size, file))
		text[strcspn(text, "\n")] = '\0';
	fclose(file);
	proc_printable(text);
}

/* PID (COMM) STATE …, where COMM may have blanks and brackets of its own. */
char proc_state(pid_t pid)
{
	char text[256];
	const char *bracket;

	proc_line(pid, "stat", text, sizeof(text));
	bracket = strrchr(text, ')');
	return bracket && bracket[1] == ' ' ? bracket[2] : '\0';
}

bool proc_is_stopped(pid_t pid)
{
	char state = proc_state(pid);

	return state == 'T' || state == 't';
}

bool proc_is_gone(pid_t pid)
{
	char state = proc_state(pid);

	if (state)
		return state == 'Z' || state == 'X';
	return kill(pid, 0) != 0 && errno == ESRCH;
}

long proc_user(pid_t pid)
{
	FILE *file = open_proc(pid, "status");
	char line[256];
	long user = -1;

	while (file && user < 0 && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Uid: %*d %ld", &user) == 1)
			break;
	}
	if (file)
		fclose(file);
	return user;
}

bool proc_has_name(pid_t pid, const char *name)
{
	char text[PATH_MAX];
	const char *slash;

	proc_line(pid, "comm", text, sizeof(text));
	if (strcmp(text, name) == 0)
		return true;
	proc_line(pid, "cmdline", text, sizeof(text));
	slash = strrchr(text, '/');
	return strcmp(slash ? slash + 1 : text, name) == 0;
}

bool proc_has_variable(pid_t pid, const char *name, const char *value)
{
	const size_t length = strlen(name);
	FILE *file = open_proc(pid, "environ");
	char *entry = NULL;
	size_t room = 0;
	bool found = false;

	while (file && !found && getdelim(&entry, &room, '\0', file) > 0)
		found = strncmp(entry, name, length) == 0 && entry[length] == '=' &&
			strcmp(entry + length + 1, value) == 0;
	free(entry);
	if (file)
		fclose(file);
	return found;
}

void proc_each(void (*fn)(pid_t pid, void *arg), void *arg)
{
	DIR *listing = opendir("/proc");
	const struct dirent *entry;

	while (listing && (entry = readdir(listing))) {
		long pid = strtol(entry->d_name, NULL, 10);

		if (pid > 0 && pid <= INT_MAX)
			fn((pid_t)pid, arg);
	}
	if (listing)
		closedir(listing);
}
