/* SPDX-License-Identifier: MIT */
/*
 * A process to be looked at: it creates caches, uses them, prints "ready" and
 * what slab_control_fd() returned, and stays until its standard input ends.
 * Each line of its input is a thing to do (do_task()); "done" says it did.
 *
 * usage: control_server [plain|load|pace|loop|fork|leave|headless]
 *   load   has threads that allocate and free all the time
 *   pace   has a thread that allocates and frees an entry about a thousand times a second
 *   loop   serves the control socket in its own poll loop
 *   fork   has a child that says whether it has a socket of its own, before
 *          and after it creates a cache
 *   leave  main() leaves by pthread_exit() and a thread ends a moment later
 *   headless  the same, and the thread stays until the input ends
 */
#include <slab/control.h>
#include <slab/slab.h>
#include <slab/stats.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENTRIES 1000
#define PBLOCKS 600
#define LOAD_THREADS 4
#define LOAD_OBJECTS 200
#define LEAKED 100

#define NOINLINE __attribute__((noinline))

static struct slab_cache *entry, *pblock;

static struct slab_cache *create(const char *name, size_t size, uint64_t flags)
{
	return slab_cache_create(name, size, NULL, flags | SLAB_PANIC);
}

/* libslab's calls of open() come here. Each must set O_CLOEXEC, so that no program that this
 * process starts inherits the file. */
int open(const char *path, int flags, ...)
{
	va_list more;
	mode_t mode;

	va_start(more, flags);
	mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
	va_end(more);
	if (!(flags & O_CLOEXEC)) {
		fprintf(stderr, "control_server: open(\"%s\") without O_CLOEXEC\n", path);
		abort();
	}
	return openat(AT_FDCWD, path, flags, mode);
}

static void use_caches(void)
{
	static void *kept[ENTRIES];

	entry = create("entry", 712, 0);
	pblock = create("pblock", 200, SLAB_HWCACHE_ALIGN);
	create("empty", 64, 0);
	for (int i = 0; i < ENTRIES; i++)
		kept[i] = slab_alloc(entry);
	for (int i = 0; i < ENTRIES; i += 2)
		slab_free(entry, kept[i]);
	for (int i = 0; i < PBLOCKS; i++)
		kept[i] = slab_alloc(pblock);
	kept[0] = slab_alloc(create("first", 480, 0));
}

/* Tasks */

static void *leaked[LEAKED];

NOINLINE static void leak_entries(void)
{
	for (int i = 0; i < LEAKED; i++)
		leaked[i] = slab_alloc(entry);
}

NOINLINE static void free_entries(void)
{
	for (int i = 0; i < LEAKED; i++)
		slab_free(entry, leaked[i]);
}

NOINLINE static void keep_one(void)
{
	static void *kept;

	kept = slab_alloc(entry);
	*(volatile char *)kept = 1; /* it is on the stack while it allocates */
}

NOINLINE static void use_pblocks(void)
{
	void *block[8];

	for (int i = 0; i < 8; i++)
		block[i] = slab_alloc(pblock);
	for (int i = 0; i < 8; i++)
		slab_free(pblock, block[i]);
}

static void count_failures(void)
{
	int failures = 0;

	for (int i = 0; i < 10; i++) {
		void *obj = slab_alloc(entry);

		failures += !obj;
		slab_free(entry, obj);
	}
	printf("%d failed\n", failures);
}

static void create_many_caches(void)
{
	for (int i = 0; i < 3000; i++) {
		char name[40];

		snprintf(name, sizeof(name), "cache-with-a-long-name-%d", i);
		create(name, 64, 0);
	}
}

static void do_task(char task)
{
	switch (task) {
	case 'l':
		leak_entries();
		break;
	case 'f':
		free_entries();
		break;
	case 'k':
		keep_one();
		break;
	case 'p':
		use_pblocks();
		break;
	case 'o': /* an overflow */
		((char *)leaked[0])[712] = 1;
		break;
	case 'c':
		count_failures();
		break;
	case 'd': /* not dumpable */
		prctl(PR_SET_DUMPABLE, 0);
		break;
	case 'm':
		create_many_caches();
		break;
	case 'x': /* another program */
		execl("/bin/cat", "cat", NULL);
		break;
	default:
		puts("no such task");
	}
	puts("done");
	fflush(stdout);
}

/* Reads what there is of the input, at least one byte. False: it has ended. */
static bool do_tasks(void)
{
	char tasks[100];
	ssize_t n = read(STDIN_FILENO, tasks, sizeof(tasks));

	for (ssize_t i = 0; i < n; i++) {
		if (tasks[i] != '\n')
			do_task(tasks[i]);
	}
	return n > 0;
}

static void wait_for_end(void)
{
	while (do_tasks())
		;
}

static void serve_until_end(int control)
{
	struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
			       {.fd = control, .events = POLLIN}};

	while (poll(fds, 2, -1) > 0 && (!fds[0].revents || do_tasks()))
		slab_control_dispatch();
}

/* Load */

static atomic_bool load_ends;

/* Objects of one thread: each is marked as its own while it has it. */
static void *bear_load(void *seed)
{
	unsigned random = (unsigned)(size_t)seed;
	unsigned *object[LOAD_OBJECTS] = {NULL};

	while (!atomic_load(&load_ends)) {
		unsigned i = (random = random * 1664525 + 1013904223) >> 8;
		unsigned **at = &object[i % LOAD_OBJECTS];

		if (*at && **at != (unsigned)(size_t)seed)
			abort();
		if (*at)
			slab_free(entry, *at);
		*at = *at ? NULL : slab_alloc(entry);
		if (*at)
			**at = (unsigned)(size_t)seed;
	}
	for (int i = 0; i < LOAD_OBJECTS; i++)
		slab_free(entry, object[i]);
	return NULL;
}

static void *pace(void *unused)
{
	while (!atomic_load(&load_ends)) {
		slab_free(entry, slab_alloc(entry));
		usleep(1000);
	}
	return unused;
}

static void run_pace(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, pace, NULL);
	wait_for_end();
	atomic_store(&load_ends, true);
	pthread_join(thread, NULL);
}

static void run_load(void)
{
	pthread_t thread[LOAD_THREADS];

	for (size_t i = 0; i < LOAD_THREADS; i++)
		pthread_create(&thread[i], NULL, bear_load, (void *)(i + 1));
	wait_for_end();
	atomic_store(&load_ends, true);
	for (size_t i = 0; i < LOAD_THREADS; i++)
		pthread_join(thread[i], NULL);
}

static int has_socket(void)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/slab/%d.sock", getenv("SLAB_RUNTIME_DIR"), getpid());
	return access(path, F_OK) == 0;
}

static void run_child(void)
{
	int before = has_socket();

	create("of_the_child", 100, 0);
	printf("child %d before %d after %d\n", getpid(), before, has_socket());
	fflush(stdout);
	wait_for_end();
	exit(0);
}

static void *stay_a_moment(void *unused)
{
	usleep(200000);
	return unused;
}

static void *stay(void *unused)
{
	wait_for_end();
	exit(0);
	return unused;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "plain";
	int control = strcmp(mode, "loop") == 0 ? slab_control_fd() : -1;
	pthread_t thread;
	pid_t child = 0;

	use_caches();
	if (strcmp(mode, "fork") == 0 && (child = fork()) == 0)
		run_child();
	printf("ready %d\n", control >= 0 ? control : slab_control_fd());
	fflush(stdout);
	if (strcmp(mode, "leave") == 0 || strcmp(mode, "headless") == 0) {
		pthread_create(&thread, NULL, *mode == 'l' ? stay_a_moment : stay, NULL);
		pthread_exit(NULL);
	}
	if (control >= 0)
		serve_until_end(control);
	else if (strcmp(mode, "load") == 0)
		run_load();
	else if (strcmp(mode, "pace") == 0)
		run_pace();
	else
		wait_for_end();
	if (child)
		waitpid(child, NULL, 0);
	return 0;
}
