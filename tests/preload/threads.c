/* SPDX-License-Identifier: MIT */
/* A program whose threads allocate, start threads, and fork, while it has libslab as its
 * malloc. Ends with 0, or by its alarm. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 10
#define BLOCKS 400
#define SECONDS 240

static void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	_exit(1);
}

static void allocate(unsigned number)
{
	static __thread char *block[BLOCKS];

	for (unsigned i = 0; i < BLOCKS; i++) {
		size_t size = 1 + (i * 97 + number * 31) % 40000;

		block[i] = malloc(size);
		if (!block[i])
			fail("malloc failed");
		memset(block[i], (int)i, size);
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (block[i][0] != (char)i)
			fail("a block was overwritten");
		free(block[i]);
	}
}

static void fork_once(unsigned number)
{
	int status = 0;
	pid_t child = fork();

	if (child < 0)
		fail("fork failed");
	if (child == 0) {
		alarm(SECONDS);
		allocate(number);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		fail("a child failed");
}

static void *nothing(void *unused)
{
	return unused;
}

static void *work(void *arg)
{
	unsigned number = (unsigned)(size_t)arg;
	pthread_t thread;

	for (unsigned round = 0; round < ROUNDS; round++) {
		allocate(number + round);
		if (pthread_create(&thread, NULL, nothing, NULL) != 0)
			fail("pthread_create failed");
		pthread_join(thread, NULL);
		fork_once(number);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];

	alarm(SECONDS);
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)i) != 0)
			fail("pthread_create failed");
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
