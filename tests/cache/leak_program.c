/* SPDX-License-Identifier: MIT */
/*
 * A program that leaves objects behind, for SLAB_LEAK_CHECK=exit.
 * usage: leak_program HOW: how it ends: return, exit, _exit, quick_exit, signal, fork, clean
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slab/define.h>
#include <slab/malloc.h>
#include <slab/slab.h>

#define NOINLINE __attribute__((noinline))
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

struct request {
	char text[136];
};
SLAB_DEFINE_CACHE(request, struct request);

struct reply {
	char text[40];
};
SLAB_DEFINE_CACHE(reply, struct reply);

/* Exported, so that reports name them. */
void *request_make(void);
void *request_copy(void);
void *string_make(size_t size);
void leave_objects(void);

static struct reply *freed_atexit, *freed_by_destructor;
static struct slab_cache *created;
static void *kept;

NOINLINE void *request_make(void)
{
	void *request = request_alloc();

	NO_TAIL_CALL();
	return request;
}

NOINLINE void *request_copy(void)
{
	void *request = request_alloc();

	NO_TAIL_CALL();
	return request;
}

NOINLINE void *string_make(size_t size)
{
	void *string = slab_malloc(size);

	NO_TAIL_CALL();
	return string;
}

static void free_atexit(void)
{
	reply_free(freed_atexit);
	freed_atexit = NULL;
}

static __attribute__((destructor)) void free_late(void)
{
	reply_free(freed_by_destructor);
	freed_by_destructor = NULL;
}

NOINLINE void leave_objects(void)
{
	volatile int times = 2; /* not known: the loop is not unrolled */

	/* The call that creates the cache may be a place of its own. */
	request_free(request_make());
	while (times > 0) {
		kept = request_make();
		times = times - 1;
	}
	kept = request_copy();
	kept = string_make(50);
	kept = string_make(100000);
	kept = slab_alloc(created);
	NO_TAIL_CALL();
}

static void *work_for_ever(void *arg)
{
	for (;;)
		reply_free(reply_alloc());
	return arg;
}

static void end_by_fork(void)
{
	pid_t child = fork();

	if (!child)
		exit(0);
	waitpid(child, NULL, 0);
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";
	pthread_t thread;

	if (strcmp(how, "secure") == 0 && !getauxval(AT_SECURE))
		return 77;
	created = slab_cache_create("created", 24, NULL, 0);
	if (!created)
		return 1;
	freed_atexit = reply_zalloc();
	freed_by_destructor = reply_zalloc();
	atexit(free_atexit);
	if (strcmp(how, "clean") != 0)
		leave_objects();
	if (strcmp(how, "threads") == 0)
		pthread_create(&thread, NULL, work_for_ever, NULL);
	if (strcmp(how, "exit") == 0)
		exit(0);
	if (strcmp(how, "_exit") == 0)
		_exit(0);
	if (strcmp(how, "quick_exit") == 0)
		quick_exit(0);
	if (strcmp(how, "signal") == 0)
		raise(SIGTERM);
	if (strcmp(how, "fork") == 0)
		end_by_fork();
	return 0;
}
