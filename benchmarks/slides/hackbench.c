/* SPDX-License-Identifier: MIT */
/*
 * hackbench as threads of one process: in each group every sender passes messages to every
 * receiver.
 *
 * A message is an object of the cache. The sender allocates it, fills it, and writes its address to
 * the receiver's socket; the receiver reads the address and the message, and frees it. So half of
 * the work is that of the kernel's sockets, as in the original, and each object is allocated by one
 * thread and freed by another.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "slides.h"

#define MESSAGE_BYTES 512u
#define STACK_BYTES ((size_t)64 << 10)

struct group {
	const struct slides_allocator *allocator;
	unsigned members, messages;
	int (*pair)[2]; /* of each receiver */
	pthread_barrier_t *start;
};

struct member {
	const struct group *group;
	unsigned self;
};

static void send_one(const struct group *group, int fd)
{
	void *message = group->allocator->alloc();

	memset(message, 1, MESSAGE_BYTES);
	while (write(fd, &message, sizeof(message)) != (ssize_t)sizeof(message))
		if (errno != EINTR)
			bench_fail("cannot write to a socket: %s", strerror(errno));
}

static void *sender(void *arg)
{
	const struct member *self = arg;
	const struct group *group = self->group;

	pthread_barrier_wait(group->start);
	for (unsigned i = 0; i < group->messages; i++)
		for (unsigned to = 0; to < group->members; to++)
			send_one(group, group->pair[to][0]);
	return NULL;
}

static void receive_one(const struct group *group, int fd)
{
	unsigned char *message;

	/* An address is never split: all that is written has its size. */
	while (read(fd, &message, sizeof(message)) != (ssize_t)sizeof(message))
		if (errno != EINTR)
			bench_fail("cannot read from a socket: %s", strerror(errno));
	for (unsigned i = 0; i < MESSAGE_BYTES; i += 64)
		(void)*(volatile unsigned char *)&message[i];
	group->allocator->free(message);
}

static void *receiver(void *arg)
{
	const struct member *self = arg;
	const struct group *group = self->group;

	pthread_barrier_wait(group->start);
	for (unsigned i = 0; i < group->messages * group->members; i++)
		receive_one(group, group->pair[self->self][1]);
	return NULL;
}

static void *need(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	if (!memory)
		bench_fail("no memory for %zu members", n);
	return memory;
}

static void open_pairs(struct group *group)
{
	group->pair = need(group->members, sizeof(group->pair[0]));
	for (unsigned i = 0; i < group->members; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, group->pair[i]) != 0)
			bench_fail("cannot open a socket pair: %s", strerror(errno));
}

static void close_pairs(struct group *group)
{
	for (unsigned i = 0; i < group->members; i++) {
		close(group->pair[i][0]);
		close(group->pair[i][1]);
	}
	free(group->pair);
}

static void allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static pthread_t start_thread(void *(*body)(void *), struct member *member)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	if (pthread_create(&thread, &attributes, body, member) != 0)
		bench_fail("cannot start a thread");
	pthread_attr_destroy(&attributes);
	return thread;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

double hackbench(const struct slides_allocator *allocator, unsigned groups, unsigned members,
		 unsigned messages)
{
	const unsigned threads = groups * members * 2;
	struct group *group = need(groups, sizeof(group[0]));
	struct member *member = need(threads, sizeof(member[0]));
	pthread_t *thread = need(threads, sizeof(thread[0]));
	pthread_barrier_t start;
	double begin;

	allow_descriptors();
	pthread_barrier_init(&start, NULL, threads + 1);
	for (unsigned i = 0; i < groups; i++) {
		group[i] = (struct group){allocator, members, messages, NULL, &start};
		open_pairs(&group[i]);
	}
	for (unsigned i = 0; i < threads; i++) {
		member[i] = (struct member){&group[i / 2 / members], i / 2 % members};
		thread[i] = start_thread(i % 2 ? receiver : sender, &member[i]);
	}
	pthread_barrier_wait(&start);
	begin = now();
	for (unsigned i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	begin = now() - begin;
	for (unsigned i = 0; i < groups; i++)
		close_pairs(&group[i]);
	free(thread);
	free(member);
	free(group);
	return begin;
}
