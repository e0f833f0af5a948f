/* SPDX-License-Identifier: MIT */
/* A thread forks while the main thread is in exit(): the fork gives back the locks that it took,
 * and exit() ends. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include <slab/slab.h>

#define EXIT_US 300000 /* exit() has come to the end of its handlers */

static sem_t forks;

static void stay(void)
{
	sem_post(&forks);
	usleep(EXIT_US);
}

/* Before all constructors: a fork calls libslab's handler, which is registered later, before this
 * one. */
static void register_first(void)
{
	pthread_atfork(stay, NULL, NULL);
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = register_first;

static void *fork_once(void *arg)
{
	if (fork() == 0)
		_exit(0);
	return arg;
}

int main(void)
{
	pthread_t thread;

	alarm(60);
	sem_init(&forks, 0, 0);
	slab_cache_create("first", 64, NULL, SLAB_PANIC);
	pthread_create(&thread, NULL, fork_once, NULL);
	while (sem_wait(&forks) != 0)
		;
	exit(0);
}
