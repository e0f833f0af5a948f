/* SPDX-License-Identifier: MIT */
/* Jobs: a child process for each, whose result the exporter reads without waiting. The child ends
 * with its parent and has limits of its own. */
#include "job.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define FIRST_BYTES 4096

/* A limit for the child's memory, since an answer comes from an untrusted process. */
#define CHILD_BYTES ((rlim_t)1 << 30)

int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A child has its pipe and the first three descriptors: the connections of the
 * exporter's clients end when the exporter closes them. It ends with the exporter. */
static void become_child(int fd, pid_t parent)
{
	const struct rlimit memory = {CHILD_BYTES, CHILD_BYTES};
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(fd, STDERR_FILENO + 1);
	close_range(STDERR_FILENO + 2, ~0U, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	setrlimit(RLIMIT_AS, &memory);
#else
	(void)memory;
#endif
}

bool job_start(struct job *job, void (*work)(const void *arg, int fd), const void *arg, size_t most)
{
	pid_t parent = getpid();
	int fds[2];

	memset(job, 0, sizeof(*job));
	if (pipe2(fds, O_CLOEXEC) != 0)
		return false;
	job->child = fork();
	if (job->child == 0) {
		become_child(fds[1], parent);
		work(arg, STDERR_FILENO + 1);
		_exit(0);
	}
	close(fds[1]);
	if (job->child < 0) {
		close(fds[0]);
		job->child = 0;
		return false;
	}
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	job->fd = fds[0];
	job->most = most;
	return true;
}

/* Room for more bytes; false: no memory, or the limit is reached. */
static bool make_room(struct job *job)
{
	size_t capacity = job->capacity ? job->capacity * 2 : FIRST_BYTES;
	char *larger;

	if (job->length < job->capacity)
		return true;
	if (job->length > job->most)
		return false;
	larger = realloc(job->data, capacity);
	if (!larger)
		return false;
	job->data = larger;
	job->capacity = capacity;
	return true;
}

bool job_read(struct job *job)
{
	while (make_room(job)) {
		ssize_t n = read(job->fd, job->data + job->length, job->capacity - job->length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0)
			return false;
		job->length += (size_t)n;
	}
	job->length = 0;
	return false;
}

void job_end(struct job *job)
{
	if (job->child) {
		kill(job->child, SIGKILL);
		close(job->fd);
	}
	free(job->data);
	memset(job, 0, sizeof(*job));
}

bool job_write(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size > 0) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		size -= (size_t)n;
	}
	return true;
}

void job_reap(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}
