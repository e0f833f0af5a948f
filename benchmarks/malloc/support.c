/* SPDX-License-Identifier: MIT */
/* What all cases use: threads, CPUs, the program's own memory, lines for the runner. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

#define MAX_THREADS 256

unsigned bench_percent = 100;

size_t bench_work(size_t n)
{
	size_t part = n / 100 * bench_percent + n % 100 * bench_percent / 100;

	return part ? part : 1;
}

void bench_fail(const char *format, ...)
{
	va_list args;

	fputs("malloc-cases: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(EXIT_FAILURE);
}

/* stdio would allocate its buffers. */
void bench_say(const char *format, ...)
{
	char line[512];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n++] = '\n';
	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		_exit(EXIT_FAILURE); /* the runner is gone */
}

void *bench_map(size_t size)
{
	void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (ptr == MAP_FAILED)
		bench_fail("no memory for the benchmark's own tables: %s", strerror(errno));
	return ptr;
}

void *bench_check(void *ptr, size_t size)
{
	if (!ptr)
		bench_fail("no memory for %zu bytes", size);
	return ptr;
}

void *bench_malloc(size_t size)
{
	void *ptr = bench_check(malloc(size), size);

	bench_touch(ptr, size);
	return ptr;
}

long bench_kib(const char *path, const char *name)
{
	char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	char *found;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	found = strstr(text, name);
	return found ? strtol(found + strlen(name), NULL, 10) : 0;
}

/* --- CPUs ------------------------------------------------------------------------------------- */

static cpu_set_t allowed;

static void find_cpus(void)
{
	if (CPU_COUNT(&allowed) == 0 && sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		bench_fail("cannot find out which CPUs to use: %s", strerror(errno));
}

unsigned bench_cpus(void)
{
	find_cpus();
	return (unsigned)CPU_COUNT(&allowed);
}

void bench_pin(unsigned n)
{
	cpu_set_t set;
	int cpu = 0;

	find_cpus();
	n %= bench_cpus();
	for (; !CPU_ISSET(cpu, &allowed) || n > 0; cpu++)
		n -= CPU_ISSET(cpu, &allowed) != 0;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		bench_fail("cannot run on CPU %d: %s", cpu, strerror(errno));
}

void bench_unpin(void)
{
	sched_setaffinity(0, sizeof(allowed), &allowed);
}

/* --- threads ---------------------------------------------------------------------------------- */

static void (*team_work)(unsigned self);

static void *member(void *arg)
{
	team_work((unsigned)(uintptr_t)arg);
	return NULL;
}

void bench_thread(void *(*work)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, arg) != 0)
		bench_fail("cannot start a thread");
	pthread_detach(thread);
}

void bench_team(unsigned n, void (*work)(unsigned self))
{
	pthread_t thread[MAX_THREADS];

	if (n > MAX_THREADS)
		n = MAX_THREADS;
	team_work = work;
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, member, (void *)(uintptr_t)i) != 0)
			bench_fail("cannot start thread %u", i);
	for (unsigned i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
}
