/* SPDX-License-Identifier: MIT */
/* Reading the files of /proc/PID (proc.h). */
#include "proc.h"
#include "fail.h"

#define STAT_TEXT 512

static FILE *open_proc(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return fopen(path, "re");
}

int proc_lines(pid_t pid, const char *name, int (*fn)(char *line, void *arg), void *arg)
{
	FILE *file = open_proc(pid, name);
	char *line = NULL;
	size_t room = 0;
	int result = 0;

	if (!file)
		return -errno;
	while (!result && getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		result = fn(line, arg);
	}
	free(line);
	fclose(file);
	return result;
}

int proc_each(pid_t pid, const char *folder, int (*fn)(int number, void *arg), void *arg)
{
	const struct dirent *entry;
	char path[64] = "/proc";
	int result = 0;
	DIR *list;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, folder);
	list = opendir(path);
	if (!list)
		return -errno;
	while (!result && (entry = readdir(list))) {
		char *end;
		const long number = strtol(entry->d_name, &end, 10);

		if (!*end && number >= 0 && number <= INT_MAX)
			result = fn((int)number, arg);
	}
	closedir(list);
	return result;
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
	make_printable(text);
}

/* The line is "PID (COMM) STATE …". COMM may contain blanks and brackets. Returns what begins with
 * the state. */
static const char *read_stat(pid_t pid, char text[STAT_TEXT])
{
	const char *bracket;

	proc_line(pid, "stat", text, STAT_TEXT);
	bracket = strrchr(text, ')');
	return bracket && bracket[1] == ' ' ? bracket + 2 : "";
}

char proc_state(pid_t pid)
{
	char text[STAT_TEXT];

	return *read_stat(pid, text);
}

uint64_t proc_started(pid_t pid)
{
	char text[STAT_TEXT];
	uint64_t started = 0;

	sscanf(read_stat(pid, text),
	       "%*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
	       &started);
	return started;
}

bool proc_is_stopped(pid_t pid)
{
	char state = proc_state(pid);

	return state == 'T' || state == 't';
}

bool proc_thread_has_ended(pid_t tid)
{
	const char state = proc_state(tid);

	return !state || state == 'Z' || state == 'X';
}

static int number_if_alive(int tid, void *unused)
{
	(void)unused;
	return proc_thread_has_ended(tid) ? 0 : tid;
}

/* The first thread of a program may end before the others. */
pid_t proc_thread(pid_t pid)
{
	int tid = number_if_alive(pid, NULL);

	if (!tid)
		tid = proc_each(pid, "task", number_if_alive, NULL);
	return tid > 0 ? tid : 0;
}

bool proc_is_gone(pid_t pid)
{
	return !proc_thread(pid) && (proc_state(pid) || (kill(pid, 0) != 0 && errno == ESRCH));
}

void proc_identify(pid_t pid, struct proc_identity *identity)
{
	FILE *file = open_proc(pid, "auxv");

	*identity = (struct proc_identity){.started = proc_started(pid)};
	if (!file)
		return;
	if (fread(identity->auxv, 1, sizeof(identity->auxv), file) == 0)
		identity->auxv[0] = 0;
	fclose(file);
}

const char *proc_change(pid_t pid, const struct proc_identity *was)
{
	struct proc_identity is;

	if (proc_is_gone(pid))
		return "has ended";
	proc_identify(pid, &is);
	if (is.started != was->started)
		return "has ended, and another process has its number";
	if (is.auxv[0] && was->auxv[0] && memcmp(is.auxv, was->auxv, sizeof(is.auxv)) != 0)
		return "has started another program meanwhile (execve)";
	return NULL;
}

long proc_status_number(pid_t pid, const char *key, int most)
{
	FILE *file = open_proc(pid, "status");
	const size_t length = strlen(key);
	char line[256], *at, *end;
	long number = -1;

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, length) != 0)
			continue;
		for (at = line + length; most-- > 0; at = end) {
			long next = strtol(at, &end, 10);

			if (end == at)
				break;
			number = next;
		}
		break;
	}
	if (file)
		fclose(file);
	return number;
}

/* The line has the real, effective, saved and file-system user; the second is the effective one. */
long proc_user(pid_t pid)
{
	return proc_status_number(pid, "Uid:", 2);
}

pid_t proc_inner_pid(pid_t pid)
{
	return (pid_t)proc_status_number(pid, "NSpid:", INT_MAX);
}

/* Where a link leads; false: it cannot be read. */
static bool read_link(const char *of, const char *link, char target[PATH_MAX])
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/%s", of, link);
	n = readlink(path, target, PATH_MAX - 1);
	target[n > 0 ? n : 0] = '\0';
	return n > 0;
}

bool proc_link(pid_t pid, const char *link, char target[PATH_MAX])
{
	char number[16];

	snprintf(number, sizeof(number), "%d", pid);
	return read_link(number, link, target);
}

bool proc_differs(pid_t pid, const char *link)
{
	char theirs[PATH_MAX], ours[PATH_MAX];

	return proc_link(pid, link, theirs) && read_link("self", link, ours) &&
	       strcmp(theirs, ours) != 0;
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

bool proc_has_program(pid_t pid)
{
	char program[PATH_MAX];

	return proc_link(pid, "exe", program);
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
