/* SPDX-License-Identifier: MIT */
/*
 * A process to be looked at: it creates caches, uses them, says "ready" and
 * what slab_control_fd() returned, and stays until its standard input ends.
 *
 * usage: control_server [plain|loop|fork|leave]
 *   loop   serves the control socket in its own poll loop
 *   fork   has a child that says whether it has a socket of its own, before
 *          and after it creates a cache
 *   leave  main() leaves by pthread_exit() and a thread ends a moment later
 */
#include <slab/control.h>
#include <slab/slab.h>

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENTRIES 1000
#define PBLOCKS 600

static struct slab_cache *create(const char *name, size_t size, uint64_t flags)
{
	return slab_cache_create(name, size, NULL, flags | SLAB_PANIC);
}

static void use_caches(void)
{
	struct slab_cache *entry = create("entry", 712, SLAB_NO_MERGE);
	struct slab_cache *pblock = create("pblock", 200, SLAB_NO_MERGE | SLAB_HWCACHE_ALIGN);
	static void *kept[ENTRIES];

	create("empty", 64, SLAB_NO_MERGE);
	for (int i = 0; i < ENTRIES; i++)
		kept[i] = slab_alloc(entry);
	for (int i = 0; i < ENTRIES; i += 2)
		slab_free(entry, kept[i]);
	for (int i = 0; i < PBLOCKS; i++)
		kept[i] = slab_alloc(pblock);
	kept[0] = slab_alloc(create("first", 480, 0));
	kept[1] = slab_alloc(create("second", 480, 0));
}

static void wait_for_end(void)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

static void serve_until_end(int control)
{
	struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
			       {.fd = control, .events = POLLIN}};

	while (poll(fds, 2, -1) > 0 && !fds[0].revents)
		slab_control_dispatch();
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

	create("of_the_child", 100, SLAB_NO_MERGE);
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
	if (strcmp(mode, "leave") == 0) {
		pthread_create(&thread, NULL, stay_a_moment, NULL);
		pthread_exit(NULL);
	}
	if (control >= 0)
		serve_until_end(control);
	else
		wait_for_end();
	if (child)
		waitpid(child, NULL, 0);
	return 0;
}
