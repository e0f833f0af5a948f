/* SPDX-License-Identifier: MIT */
/*
 * Finding processes by the sockets on which they listen, RUNTIME_DIR/slab/PID.sock. If
 * SLAB_RUNTIME_DIR is set, only that directory is searched, as in the library. Otherwise the
 * place of a socket depends on how and by which user the process was started, so all places
 * that the user may read are searched. Any user can create a socket in some of them, so the
 * kernel is asked which process listens (peer.h).
 *
 * Processes in containers listen in places of their own, and the kernel knows where (peer.h).
 * Processes without a socket are found by searching the memory of every process. If
 * SLAB_RUNTIME_DIR is set, only those count that were started with the same value.
 */
#include "find.h"
#include "peer.h"
#include "memory.h"

#include <glob.h>

static const char *given_runtime_dir(void)
{
	const char *given = getenv("SLAB_RUNTIME_DIR");

	return given && *given ? given : NULL;
}

static bool is_known(const struct process_list *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->processes[i].pid == pid)
			return true;
	}
	return false;
}

static void start(struct process *process, pid_t pid)
{
	memset(process, 0, sizeof(*process));
	process->pid = pid;
	process->way = WAY_MEMORY;
	proc_line(pid, "comm", process->command, sizeof(process->command));
	proc_identify(pid, &process->identity);
}

/* Add a process to the list, without a check for duplicates. The result is valid until the next
 * call. */
static struct process *add_process(struct process_list *list, pid_t pid)
{
	struct process *larger, *process;

	larger = realloc(list->processes, (list->count + 1) * sizeof(*process));
	if (!larger)
		return NULL;
	list->processes = larger;
	process = &larger[list->count++];
	start(process, pid);
	return process;
}

/* Sockets */

/* The pid in a path .../PID.sock; 0: there is none. */
static pid_t pid_of(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	char *end;
	long pid = strtol(name, &end, 10);

	if (*name < '1' || *name > '9' || strcmp(end, ".sock") != 0 || pid > INT_MAX)
		return 0;
	return (pid_t)pid;
}

/* The pid of the process that listens on the socket. 0: no process listens, or it is not the
 * process in the socket's name. A process that is dead or called exec() does not listen. On EAGAIN
 * the backlog is full, so the process in the name is assumed to listen. */
static pid_t listener_of(const char *path)
{
	pid_t named = pid_of(path), pid;
	int fd = named ? peer_connect(path, 0) : -1;

	if (fd < 0)
		return named && errno == EAGAIN ? named : 0;
	pid = peer_pid(fd, named);
	close(fd);
	return pid;
}

static void use_socket(struct process *process)
{
	process->way = proc_is_stopped(process->pid) ? WAY_MEMORY : WAY_SOCKET;
}

static void add_socket(struct process_list *list, const struct choice *choice, const char *path)
{
	struct process *process;
	pid_t pid = listener_of(path);

	if (!pid || (choice->pid && pid != choice->pid) || is_known(list, pid) ||
	    (choice->name && !proc_has_name(pid, choice->name)))
		return;
	process = add_process(list, pid);
	if (!process)
		return;
	snprintf(process->path, sizeof(process->path), "%s", path);
	use_socket(process);
}

/* Add every socket in `dir`/slab; `dir` may be a glob pattern. */
static void search(struct process_list *list, const struct choice *choice, const char *dir)
{
	char pattern[PATH_MAX];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/slab/*.sock", dir);
	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			add_socket(list, choice, found.gl_pathv[i]);
	}
	globfree(&found);
}

void find_sockets(struct process_list *list, const struct choice *choice)
{
	const char *session = getenv("XDG_RUNTIME_DIR");
	char own[32];

	if (given_runtime_dir()) {
		search(list, choice, given_runtime_dir());
		return;
	}
	if (session && *session)
		search(list, choice, session);
	search(list, choice, "/run");
	if (geteuid() == 0) {
		search(list, choice, "/run/user/*");
		search(list, choice, "/tmp/slab-*");
	} else {
		snprintf(own, sizeof(own), "/tmp/slab-%u", (unsigned)geteuid());
		search(list, choice, own);
	}
}

/* Other processes: they listen where only they see it, or not at all */

struct others {
	struct process_list *list;
	const struct choice *choice;
};

/* The cheapest checks come first. */
static bool is_meant(const struct others *others, pid_t pid)
{
	const struct choice *choice = others->choice;
	const char *dir = given_runtime_dir();

	if (pid == getpid() || (choice->pid && pid != choice->pid) || is_known(others->list, pid))
		return false;
	if (geteuid() != 0 && proc_user(pid) != (long)geteuid())
		return false;
	if (choice->name && !proc_has_name(pid, choice->name))
		return false;
	if (dir && !proc_has_variable(pid, "SLAB_RUNTIME_DIR", dir))
		return false;
	return true;
}

/* May it have a socket that was not found, since it sees other files? */
static bool is_contained(pid_t pid)
{
	return proc_differs(pid, "ns/mnt") || proc_differs(pid, "root");
}

static bool may_have_caches(const struct choice *choice, pid_t pid)
{
	return choice->unseen ? proc_has_program(pid) : memory_uses_libslab(pid);
}

static int add_other(int pid, void *arg)
{
	const struct others *others = arg;
	const struct choice *choice = others->choice;
	const bool searches = choice->memory || choice->name, contained = is_contained(pid);
	struct process *process = NULL;
	char path[PATH_MAX];
	bool listens;

	if ((!contained && !searches) || !is_meant(others, pid))
		return 0;
	listens = contained && !choice->unseen && listening_path(pid, path);
	if (listens || (searches && may_have_caches(choice, pid)))
		process = add_process(others->list, pid);
	if (!process)
		return 0;
	process->unseen = choice->unseen;
	if (listens) {
		memcpy(process->path, path, sizeof(path));
		use_socket(process);
	}
	return 0;
}

void find_listener(struct process *process, pid_t pid)
{
	start(process, pid);
	if (listening_path(pid, process->path))
		use_socket(process);
}

void find_others(struct process_list *list, const struct choice *choice)
{
	struct others others = {list, choice};

	proc_each(0, "", add_other, &others);
}

static int by_pid(const void *a, const void *b)
{
	const struct process *left = a, *right = b;

	return (left->pid > right->pid) - (left->pid < right->pid);
}

void find_sort(struct process_list *list)
{
	if (list->count)
		qsort(list->processes, list->count, sizeof(*list->processes), by_pid);
}
