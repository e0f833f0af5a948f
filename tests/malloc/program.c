/* SPDX-License-Identifier: MIT */
/*
 * A program in C that does not know libslab, for malloc_process_test: it does the task that its
 * argument names, prints what it found, and ends with 0 unless something went wrong.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS 400000u

static char *block[BLOCKS];

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	_exit(1);
}

/* --- what the process has ------------------------------------------------------------ */

static long from_status(const char *name)
{
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	const char *at;

	close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	at = strstr(text, name);
	return at ? atol(at + strlen(name)) : -1;
}

static unsigned descriptors(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void show(void)
{
	printf("threads %ld descriptors %u\n", from_status("Threads:"), descriptors());
}

static size_t resident(void)
{
	return (size_t)from_status("RssAnon:") << 10;
}

/* --- tasks ------------------------------------------------------------------------------- */

static void allocate_all(size_t size)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		block[i] = malloc(size);
		if (!block[i])
			fail("malloc");
		memset(block[i], 1, size);
	}
}

static void free_all(void)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		free(block[i]);
		block[i] = NULL;
	}
}

/* A process with 50 MB. */
static int grow(void)
{
	allocate_all(120);
	show();
	return 0;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Allocate and free a little of several sizes, for a time. */
static void go_on(double seconds)
{
	const double end = now() + seconds;
	const struct timespec pause = {.tv_nsec = 1000000};

	while (now() < end) {
		for (unsigned i = 0; i < 100; i++)
			block[i] = malloc(20 + i * 13);
		for (unsigned i = 0; i < 100; i++)
			free(block[i]);
		nanosleep(&pause, NULL);
	}
}

/* SLAB_DECAY_MS is 400: has the memory gone a second later, and not before? */
static int decay(void)
{
	size_t full, then;

	allocate_all(120);
	full = resident();
	free_all();
	go_on(0.1);
	then = resident();
	go_on(1.4);
	show();
	printf("full %zu soon %zu late %zu MiB\n", full >> 20, then >> 20, resident() >> 20);
	return resident() < full / 4 ? 0 : 1;
}

/* Most memory is freed, and nothing happens: has it gone? When the same comes again soon, it
 * stays. */
static int silence(void)
{
	size_t full, once, twice;

	allocate_all(120);
	full = resident();
	free_all();
	once = resident();
	allocate_all(120);
	free_all();
	twice = resident();
	show();
	printf("full %zu once %zu twice %zu MiB\n", full >> 20, once >> 20, twice >> 20);
	return once < full * 15 / 100 && twice > full / 2 ? 0 : 1;
}

static void filter_calls(struct sock_filter *code, size_t n)
{
	struct sock_fprog program = {(unsigned short)n, code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
		_exit(77);
}

/* From here on files, sockets and threads end the process. */
static void enter_sandbox(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};

	filter_calls(code, sizeof(code) / sizeof(code[0]));
}

static int sandbox(void)
{
	enter_sandbox();
	allocate_all(250);
	free_all();
	go_on(1);
	allocate_all(40);
	free_all();
	malloc_trim(0);
	return 0;
}

/* As some containers have it: the process may not ask for its NUMA nodes. */
static int hidden_nodes(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_get_mempolicy, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	filter_calls(code, sizeof(code) / sizeof(code[0]));
	execl("/proc/self/exe", "program", "sandbox", (char *)NULL);
	return 1;
}

/* Possible in a process with one thread only. */
static int new_user(void)
{
	allocate_all(120);
	return unshare(CLONE_NEWUSER) == 0 ? 0 : errno == EINVAL ? 1 : 77;
}

static size_t mapped(void)
{
	return (size_t)from_status("VmSize:") << 10;
}

/* Allocate until there is no address space: ENOMEM, and all can be used again later. */
static void fill_address_space(size_t size)
{
	unsigned n = 0;

	while (n < BLOCKS && (block[n] = malloc(size)))
		memset(block[n++], 2, size < 4096 ? size : 4096);
	if (n == BLOCKS || errno != ENOMEM)
		fail("not ENOMEM");
	for (unsigned i = 0; i < n; i++) {
		if (block[i][0] != 2)
			fail("overwritten");
		free(block[i]);
		block[i] = NULL;
	}
}

static int limit(void)
{
	static const size_t sizes[] = {3000, 100, 1 << 20, 40000, 5 << 20, 700};
	struct rlimit space = {.rlim_cur = mapped() + ((size_t)32 << 20),
			       .rlim_max = RLIM_INFINITY};

	if (setrlimit(RLIMIT_AS, &space) != 0)
		fail("setrlimit");
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		fill_address_space(sizes[i]);
	return 0;
}

/* The mapping of the large block, with its head, would end 32 KiB behind the start of the others'
 * segment. */
static int beside_large(void)
{
	for (unsigned i = 0; i < 20000; i++)
		block[i] = malloc(40);
	free(malloc(((16 << 20) + (32 << 10)) - (84 << 10)));
	for (unsigned i = 0; i < 20000; i++)
		free(block[i]);
	return 0;
}

/* SLAB_FAIL lets allocations fail: each fails with ENOMEM or works. */
static int endure(void)
{
	unsigned failures = 0;

	for (unsigned i = 0; i < 20000; i++) {
		char **at = &block[i % 500];
		size_t size = 1 + i * 7919u % 9000;

		free(*at);
		errno = 0;
		*at = i % 3 ? malloc(size) : calloc(1, size);
		if (*at)
			memset(*at, 3, size);
		else if (errno == ENOMEM)
			failures++;
		else
			fail("not ENOMEM");
	}
	printf("%s\n", failures ? "some failed" : "none failed");
	return 0;
}

static int overflow(void)
{
	char *ptr = malloc(100);

	__asm__ volatile("" : "+r"(ptr)); /* the compiler would warn */
	ptr[100] = 1;
	free(ptr);
	return 0;
}

static __attribute__((noinline)) void *allocate_here(void)
{
	void *ptr = malloc(777);

	__asm__ volatile("" : "+r"(ptr));
	return ptr;
}

/* Until the end of the input. */
static int wait_for_end(void)
{
	char byte;

	for (unsigned i = 0; i < 1000; i++)
		block[i] = allocate_here();
	printf("ready\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}

/* --- children of vfork() --------------------------------------------------------------- */

#define HELD 40
#define TAKEN UINT64_C(0x74616b656e) /* the first word of a block that a thread or a child has */

static unsigned twice; /* blocks that two users had at once; atomic */
static bool stop;

static void pin(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void use_blocks(void)
{
	uint64_t *held[HELD];

	for (unsigned i = 0; i < HELD; i++) {
		held[i] = malloc(80);
		if (__atomic_exchange_n(held[i], TAKEN, __ATOMIC_RELAXED) == TAKEN)
			__atomic_fetch_add(&twice, 1, __ATOMIC_RELAXED);
	}
	for (unsigned i = 0; i < HELD; i++) {
		__atomic_store_n(held[i], 0, __ATOMIC_RELAXED);
		free(held[i]);
	}
}

static void *use_until_stop(void *cpu)
{
	pin((unsigned)(size_t)cpu);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		use_blocks();
	return NULL;
}

/* The children allocate on another CPU than their parent, which moves, too. */
static int vforks(void)
{
	const unsigned cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t thread[64];
	unsigned threads = cpus < 64 ? cpus : 64;

	for (size_t i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, use_until_stop, (void *)(i % cpus));
	for (unsigned i = 0; i < 40; i++) {
		pid_t child;
		int status;

		pin(i % cpus);
		/* NOLINTNEXTLINE(bugprone-unsafe-functions): what is tested */
		child = vfork();
		if (child == 0) {
			pin((i + 1) % cpus);
			for (unsigned n = 0; n < 20; n++)
				use_blocks();
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
			fail("vfork");
		for (unsigned n = 0; n < 20; n++)
			use_blocks();
	}
	stop = true;
	for (size_t i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("twice: %u\n", twice);
	return twice != 0;
}

/* --- a library with a C++ library of its own ---------------------------------------------- */

static int static_cxx(void)
{
	void *library = dlopen(getenv("STATIC_CXX"), RTLD_NOW | RTLD_LOCAL);
	int (*failing_news)(size_t size);

	if (!library)
		fail("dlopen");
	*(void **)&failing_news = dlsym(library, "failing_news");
	return failing_news((size_t)PTRDIFF_MAX + 1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} tasks[] = {
		{"grow", grow},
		{"decay", decay},
		{"silence", silence},
		{"sandbox", sandbox},
		{"new_user", new_user},
		{"limit", limit},
		{"endure", endure},
		{"overflow", overflow},
		{"wait", wait_for_end},
		{"vforks", vforks},
		{"static_cxx", static_cxx},
		{"hidden_nodes", hidden_nodes},
		{"beside_large", beside_large},
	};

	for (unsigned i = 0; argc > 1 && i < sizeof(tasks) / sizeof(tasks[0]); i++)
		if (strcmp(argv[1], tasks[i].name) == 0)
			return tasks[i].run();
	return 2;
}
