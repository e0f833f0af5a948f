/* SPDX-License-Identifier: MIT */
/* Connecting to a control socket, and finding out which process listens on it (peer.h). */
#include "peer.h"
#include "fail.h"
#include "proc.h"

#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>

/* Close a descriptor, and leave errno as it is. */
static void close_kept(int fd)
{
	const int error = errno;

	close(fd);
	errno = error;
}

static int open_socket(int seconds)
{
	const struct timeval patience = {.tv_sec = seconds};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (seconds ? 0 : SOCK_NONBLOCK), 0);

	if (fd >= 0 && seconds) {
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	}
	return fd;
}

/* Open a name in a folder, which it closes; neither a link nor the folder above. */
static int open_name(int dir, const char *name)
{
	struct stat file;
	int fd = -1;

	errno = ELOOP;
	if (strcmp(name, "..") != 0)
		fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	close_kept(dir);
	if (fd < 0 || (fstat(fd, &file) == 0 && !S_ISLNK(file.st_mode)))
		return fd;
	close(fd);
	errno = ELOOP;
	return -1;
}

static int open_names(int dir, const char *path)
{
	char names[PATH_MAX], *rest;

	snprintf(names, sizeof(names), "%s", path);
	for (char *name = strtok_r(names, "/", &rest); name && dir >= 0;
	     name = strtok_r(NULL, "/", &rest))
		dir = open_name(dir, name);
	return dir;
}

/* Open a path below a root without the links that `resolve` forbids. Kernels before 5.6 and filters
 * of sandboxes refuse openat2(2); then all links are forbidden. */
static int open_below(const char *root, const char *path, uint64_t resolve)
{
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve};
	const int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd;

	if (dir < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return open_names(dir, path);
	close_kept(dir);
	return fd;
}

static int connect_to(const char *path, int seconds)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path));
	fd = open_socket(seconds);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close_kept(fd);
	return -1;
}

/* Root of this machine is nobody in a user namespace, so it comes as the process's user. */
static int connect_as(pid_t pid, const char *path, int seconds)
{
	const uid_t own = geteuid();
	const long user = own == 0 && proc_differs(pid, "ns/user") ? proc_user(pid) : -1;
	int fd;

	if (user < 0)
		return connect_to(path, seconds);
	if (seteuid((uid_t)user) != 0)
		return -1;
	fd = connect_to(path, seconds);
	if (seteuid(own) != 0)
		abort(); /* it must not go on with other rights */
	return fd;
}

/* Root follows no link in a folder of a user, who may have it lead to any socket of the machine. */
static bool is_of_user(const char *path)
{
	return geteuid() == 0 && (strncmp(path, "/tmp/slab-", strlen("/tmp/slab-")) == 0 ||
				  strncmp(path, "/run/user/", strlen("/run/user/")) == 0);
}

int peer_connect(const char *path, int seconds)
{
	int pid = 0, length = 0, socket, fd;
	char text[32];

	if (sscanf(path, "/proc/%d/root%n", &pid, &length) == 1 && path[length] == '/') {
		snprintf(text, sizeof(text), "/proc/%d/root", pid);
		socket = open_below(text, path + length, RESOLVE_IN_ROOT);
	} else if (is_of_user(path)) {
		socket = open_below("/", path, RESOLVE_NO_SYMLINKS);
	} else {
		return connect_to(path, seconds);
	}
	if (socket < 0)
		return -1;
	snprintf(text, sizeof(text), "/proc/self/fd/%d", socket);
	fd = pid ? connect_as(pid, text, seconds) : connect_to(text, seconds);
	close_kept(socket);
	return fd;
}

/* Servers listen as root, and change their user afterwards. Those of another user serve root alone. */
static bool is_user_of(uid_t listened, pid_t pid)
{
	const long user = proc_user(pid), own = geteuid();

	return (listened == 0 || (long)listened == user) && (own == 0 || own == user);
}

pid_t peer_pid(int fd, pid_t named)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
		return 0;
	if (peer.pid != named && proc_inner_pid(peer.pid) != named)
		return 0;
	return is_user_of(peer.uid, peer.pid) ? peer.pid : 0;
}

int peer_open(const char *path, pid_t pid, int seconds)
{
	int fd = peer_connect(path, seconds);

	if (fd < 0 || peer_pid(fd, pid) == pid)
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

/* --- where a process listens -------------------------------------------------------------- */

/*
 * /proc/PID/net/unix has the names of sockets, and /proc/PID/fd says which of them the process
 * holds. So neither its files nor its settings are looked at, which a container controls, and no
 * place is guessed.
 */

#define FLAG_LISTENS 0x10000u /* __SO_ACCEPTCON */

struct listening {
	pid_t pid;
	char end[64]; /* of the socket's name */
	char target[64]; /* of the descriptor's link */
	char *path;
};

static int is_target(int number, void *arg)
{
	const struct listening *listening = arg;
	char link[32], target[PATH_MAX];

	snprintf(link, sizeof(link), "fd/%d", number);
	return proc_link(listening->pid, link, target) && strcmp(target, listening->target) == 0;
}

static bool ends_with(const char *text, const char *end)
{
	const size_t length = strlen(text), tail = strlen(end);

	return length >= tail && strcmp(text + length - tail, end) == 0;
}

static int is_listening(char *line, void *arg)
{
	struct listening *listening = arg;
	uint64_t inode;
	unsigned flags;
	int at = 0;

	if (sscanf(line, "%*s %*x %*x %x %*x %*x %" SCNu64 " %n", &flags, &inode, &at) != 2 ||
	    !at || !(flags & FLAG_LISTENS) || line[at] != '/' ||
	    !ends_with(line + at, listening->end) || !is_printable(line + at))
		return 0;
	snprintf(listening->target, sizeof(listening->target), "socket:[%" PRIu64 "]", inode);
	return proc_each(listening->pid, "fd", is_target, listening) > 0 &&
	       snprintf(listening->path, PATH_MAX, "/proc/%d/root%s", listening->pid, line + at) <
		       PATH_MAX;
}

bool listening_path(pid_t pid, char path[PATH_MAX])
{
	struct listening listening = {.pid = pid, .path = path};

	snprintf(listening.end, sizeof(listening.end), "/slab/%d.sock", proc_inner_pid(pid));
	return proc_lines(pid, "net/unix", is_listening, &listening) > 0;
}
