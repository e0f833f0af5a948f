/* SPDX-License-Identifier: MIT */
/* See process.h. Nothing here allocates. */
#include "process.h"

#include <stdarg.h>

void bench_fail(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(EXIT_FAILURE);
}

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

/* Those of the process when it asked first: later it may be pinned. */
static const cpu_set_t *allowed(void)
{
	static cpu_set_t cpus;

	if (CPU_COUNT(&cpus) == 0 && sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
		bench_fail("cannot find out which CPUs to use: %s", strerror(errno));
	return &cpus;
}

unsigned bench_cpus(void)
{
	return (unsigned)CPU_COUNT(allowed());
}

/* The highest CPU first: the lowest ones serve more interrupts. */
int bench_cpu(unsigned n)
{
	int cpu = CPU_SETSIZE;

	for (unsigned seen = 0; seen <= n; seen++)
		do
			cpu--;
		while (cpu > 0 && !CPU_ISSET(cpu, allowed()));
	return cpu;
}

void bench_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		bench_fail("cannot run on CPU %d: %s", cpu, strerror(errno));
}

void bench_unpin(void)
{
	sched_setaffinity(0, sizeof(cpu_set_t), allowed());
}
