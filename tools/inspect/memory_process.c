/* SPDX-License-Identifier: MIT */
/*
 * The memory of a live process: /proc/PID/maps has the mappings, and process_vm_readv()
 * copies memory, whether the process runs, hangs or is stopped. The process does not notice.
 * It can change or end at any moment; then the current call fails.
 */
#include "fail.h"
#include "memory_source.h"
#include "proc.h"

#define PIECES_AT_ONCE 1024u /* the kernel's limit */

#define WHY_TEXT 256

/* Reading */

static int read_remote(pid_t pid, const struct iovec *remote, size_t count, size_t size, void *to)
{
	struct iovec local = {.iov_base = to, .iov_len = size};
	ssize_t n = process_vm_readv(pid, &local, 1, remote, count, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EFAULT;
}

static int process_read(struct memory *memory, uint64_t address, size_t size, void *to)
{
	const struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};

	return read_remote(memory->thread, &remote, 1, size, to);
}

static int process_read_pieces(struct memory *memory, uint64_t address, size_t size, size_t stride,
			       size_t count, void *to)
{
	struct iovec remote[PIECES_AT_ONCE];
	unsigned char *at = to;
	int error = 0;

	while (!error && count) {
		size_t pieces = count < PIECES_AT_ONCE ? count : PIECES_AT_ONCE;

		for (size_t i = 0; i < pieces; i++)
			remote[i] = (struct iovec){(void *)(uintptr_t)(address + i * stride), size};
		error = read_remote(memory->thread, remote, pieces, pieces * size, at);
		at += pieces * size;
		address += pieces * stride;
		count -= pieces;
	}
	return error;
}

static void process_close(struct memory *memory)
{
	memory_free_mappings(memory);
	free(memory);
}

static const struct memory_source process_source = {
	.read = process_read,
	.read_pieces = process_read_pieces,
	.close = process_close,
	.live = true,
};

/* Opening */

/* The files of a process as they are read from /proc/PID/maps. */
struct files {
	struct memory *memory;
	pid_t pid;
	char root[32];       /* where they are for this process */
	char exe[PATH_MAX];  /* the program */
	char name[PATH_MAX]; /* of the last one, as the process knows it */
	char path[PATH_MAX]; /* it opens here */
};

static bool is_deleted(const char *name)
{
	static const char end[] = " (deleted)";
	const size_t length = strlen(name);

	return length >= sizeof(end) && strcmp(name + length - (sizeof(end) - 1), end) == 0;
}

/* The file whose first mapping has this name. One that was deleted or replaced has no path any
 * more, but the kernel still opens it. Root has the kernel open all files of a container, where a
 * path may be a link that leads out. */
static void find_path(struct files *files, const struct mapping *mapping, const char *name)
{
	snprintf(files->name, PATH_MAX, "%s", name);
	snprintf(files->path, PATH_MAX, "%s%s", files->root, name);
	if (!is_deleted(name) && (!*files->root || geteuid() != 0))
		return;
	if (strcmp(name, files->exe) == 0)
		snprintf(files->path, PATH_MAX, "/proc/%d/exe", files->pid);
	else
		snprintf(files->path, PATH_MAX, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
			 files->pid, mapping->start, mapping->end);
	if (is_deleted(name) && access(files->path, R_OK) != 0)
		snprintf(files->path, PATH_MAX, "%s", name);
}

/* Add a line of maps, if a file is mapped there. */
static int add_line(char *line, void *arg)
{
	struct mapping mapping = {.bias_state = BIAS_UNKNOWN};
	struct files *files = arg;
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4s %" SCNx64 " %*s %*u %n", &mapping.start,
		   &mapping.end, &mapping.offset, &path) != 3 ||
	    line[path] != '/')
		return 0;
	if (strcmp(files->name, line + path) != 0)
		find_path(files, &mapping, line + path);
	return memory_add_mapping(files->memory, &mapping, files->path) ? 0 : -ENOMEM;
}

/* Read /proc/PID/maps. Returns 0 or -errno; -EACCES: not allowed. */
static int read_maps(struct memory *memory)
{
	struct files files = {.pid = memory->pid, .memory = memory};

	if (proc_differs(memory->pid, "ns/mnt"))
		snprintf(files.root, sizeof(files.root), "/proc/%d/root", memory->pid);
	proc_link(memory->pid, "exe", files.exe);
	return proc_lines(memory->thread, "maps", add_line, &files);
}

/* Read one byte of the memory: it may be protected although the maps are readable. */
static int try_to_read(struct memory *memory)
{
	char byte;

	if (memory->mappings == 0)
		return 0;
	return process_read(memory, memory->mapping[0].start, 1, &byte) == -EPERM ? -EPERM : 0;
}

static void report_refusal(const struct memory *memory, char why[WHY_TEXT])
{
	const long user = proc_user(memory->pid);
	char scope[16] = "";
	FILE *file;

	if (user >= 0 && geteuid() != 0 && user != (long)geteuid()) {
		snprintf(why, WHY_TEXT,
			 "process %d (%s) belongs to user %ld: only that user and root may look "
			 "at it",
			 memory->pid, memory->command, user);
		return;
	}
	file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	if (file) {
		if (fgets(scope, sizeof(scope), file))
			scope[strcspn(scope, "\n")] = '\0';
		fclose(file);
	}
	if (atoi(scope) > 0)
		snprintf(why, WHY_TEXT,
			 "the memory of process %d (%s) may not be read, because "
			 "/proc/sys/kernel/yama/ptrace_scope is %s; %s",
			 memory->pid, memory->command, scope,
			 atoi(scope) < 3 ? "root may" : "no user may");
	else
		snprintf(why, WHY_TEXT,
			 "the memory of process %d (%s) may not be read: it has privileges that "
			 "this user has not, or the container forbids it",
			 memory->pid, memory->command);
}

static bool is_refused(int error)
{
	return error == -EACCES || error == -EPERM;
}

static void report(const struct memory *memory, int error, char why[WHY_TEXT])
{
	const pid_t pid = memory->pid;

	if (proc_is_gone(pid))
		snprintf(why, WHY_TEXT,
			 proc_state(pid) ? "process %d has ended" : "there is no process %d", pid);
	else if (is_refused(error))
		report_refusal(memory, why);
	else if (error == -ENOENT)
		snprintf(why, WHY_TEXT,
			 "process %d (%s) has no slab caches: it does not use libslab", pid,
			 memory->command);
	else if (error == -ENODATA)
		snprintf(why, WHY_TEXT,
			 "process %d (%s) has no slab caches: it has libslab, but no cache", pid,
			 memory->command);
	else
		snprintf(why, WHY_TEXT, "the memory of process %d (%s) cannot be read: %s", pid,
			 memory->command, strerror(-error));
}

static void set_process(struct memory *memory, pid_t pid)
{
	const pid_t thread = proc_thread(pid);

	memory->source = &process_source;
	memory->pid = pid;
	memory->thread = thread ? thread : pid;
}

/* Open any process that has libslab's note. If its root cannot be read, the first query reports
 * that. *ret_error is 0, or the error of memory_find_root(). */
static struct memory *open_process(pid_t pid, const char *socket, int *ret_error,
				   char why[WHY_TEXT])
{
	struct memory *memory = calloc(1, sizeof(*memory));
	int error;

	if (!memory) {
		snprintf(why, WHY_TEXT, "no memory to look at process %d", pid);
		return NULL;
	}
	set_process(memory, pid);
	proc_line(pid, "comm", memory->command, sizeof(memory->command));
	error = read_maps(memory);
	if (!error)
		error = try_to_read(memory);
	if (!error)
		error = memory_find_root(memory);
	else if (is_refused(error) && *socket && !proc_is_stopped(pid))
		error = memory_use_socket(memory, socket);
	*ret_error = error;
	if (!error || error == -EPROTO)
		return memory;
	report(memory, error, why);
	memory->source->close(memory);
	return NULL;
}

struct memory *memory_open_process(pid_t pid, const char *socket)
{
	char why[WHY_TEXT];
	int error;
	struct memory *memory = open_process(pid, socket, &error, why);

	if (!memory)
		fail("%s", why);
	return memory;
}

struct memory *memory_open_maps(pid_t pid)
{
	struct memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return NULL;
	set_process(memory, pid);
	if (read_maps(memory) == 0)
		return memory;
	process_close(memory);
	return NULL;
}

struct memory *memory_look(pid_t pid)
{
	char why[WHY_TEXT];
	int error;
	struct memory *memory = open_process(pid, "", &error, why);

	if (!memory || !error)
		return memory;
	memory_close(memory);
	return NULL;
}

bool memory_uses_libslab(pid_t pid)
{
	struct memory *memory = memory_look(pid);

	memory_close(memory);
	return memory;
}
