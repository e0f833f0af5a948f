/* SPDX-License-Identifier: MIT */
/* Simulated CPUs: a struct rseq of the program, and the kernel's CPU mask (cpus.h). */
#include "cpus.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARGUMENTS 6

/* As the kernel's struct rseq. Not static: the assembler refers to it. */
extern __thread struct simulated_rseq {
	uint32_t cpu_id_start, cpu_id;
	uint64_t rseq_cs;
	uint32_t flags, node_id, mm_cid, unused;
} simulated_rseq;
__thread struct simulated_rseq simulated_rseq __attribute__((aligned(32)));

/* The C library's __rseq_offset, __rseq_size and __rseq_flags. The distance of a thread's variable
 * from the thread pointer is known to the linker only. */
__asm__(".pushsection .data.rel.ro,\"aw\"\n"
	".balign 8\n"
	".globl __rseq_offset, __rseq_size, __rseq_flags\n"
	".type __rseq_offset, @object\n"
	".type __rseq_size, @object\n"
	".type __rseq_flags, @object\n"
	".size __rseq_offset, 8\n"
	".size __rseq_size, 4\n"
	".size __rseq_flags, 4\n"
	"__rseq_offset: .quad simulated_rseq@tpoff\n"
	"__rseq_size: .long 32\n"
	"__rseq_flags: .long 0\n"
	".popsection\n");

unsigned cpus_count(void)
{
	const char *text = getenv(CPUS_VARIABLE);
	unsigned long n = text ? strtoul(text, NULL, 10) : 1;

	if (n >= 1 && n <= CPUS_MAX)
		return (unsigned)n;
	fprintf(stderr, CPUS_VARIABLE "=%s: accepted are 1 to %u\n", text, CPUS_MAX);
	exit(2);
}

static long enter_kernel(long number, const long a[ARGUMENTS])
{
	register long r10 __asm__("r10") = a[3];
	register long r8 __asm__("r8") = a[4];
	register long r9 __asm__("r9") = a[5];
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* A mask of all simulated CPUs; the size is that of the kernel's mask, which libslab looks at. */
static long simulated_mask(unsigned long *mask)
{
	const unsigned n = cpus_count(), bytes = (n + 63) / 64 * 8;

	memset(mask, 0, bytes);
	for (unsigned cpu = 0; cpu < n; cpu++)
		mask[cpu / 64] |= 1ul << cpu % 64;
	return bytes;
}

/* The C library's function, which libslab calls: with a mask of the simulated CPUs. */
long syscall(long number, ...)
{
	long a[ARGUMENTS], result;
	va_list list;

	va_start(list, number);
	for (unsigned i = 0; i < ARGUMENTS; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_sched_getaffinity)
		return simulated_mask((unsigned long *)(uintptr_t)a[2]);
	result = enter_kernel(number, a);
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

/* --- a thread for each CPU ---------------------------------------------------------------- */

static struct worker {
	sem_t begin, end;
	void (*fn)(void *arg);
	void *arg;
} *workers;

static void *work(void *arg)
{
	struct worker *worker = arg;

	for (;;) {
		while (sem_wait(&worker->begin) != 0)
			;
		worker->fn(worker->arg);
		sem_post(&worker->end);
	}
	return NULL;
}

static void start(struct worker *worker)
{
	pthread_attr_t attr;
	pthread_t thread;

	sem_init(&worker->begin, 0, 0);
	sem_init(&worker->end, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	if (pthread_create(&thread, &attr, work, worker) != 0) {
		fputs("no more threads\n", stderr);
		exit(1);
	}
	pthread_attr_destroy(&attr);
	pthread_detach(thread);
}

void cpus_use_threads(void)
{
	/* At most CPUS_MAX. NOLINTNEXTLINE(clang-analyzer-optin.taint.TaintedAlloc) */
	workers = calloc(cpus_count(), sizeof(workers[0]));
	for (unsigned cpu = 0; workers && cpu < cpus_count(); cpu++)
		start(&workers[cpu]);
}

static void run_on_thread(struct worker *worker, void (*fn)(void *), void *arg)
{
	worker->fn = fn;
	worker->arg = arg;
	sem_post(&worker->begin);
	while (sem_wait(&worker->end) != 0)
		;
}

void cpus_run(unsigned cpu, void (*fn)(void *), void *arg)
{
	if (workers) {
		run_on_thread(&workers[cpu], fn, arg);
		return;
	}
	simulated_rseq.cpu_id_start = simulated_rseq.cpu_id = cpu;
	fn(arg);
	simulated_rseq.cpu_id_start = simulated_rseq.cpu_id = 0;
}
