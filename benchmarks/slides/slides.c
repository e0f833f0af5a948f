/* SPDX-License-Identifier: MIT */
/*
 * The slides' loads that benchmarks/objects has not: compiled once per contestant against its
 * header (benchmarks/objects/contestant_*.h).
 *
 *   slides-slab memory | hackbench MESSAGES | block SIZE
 *
 * Figures go to stdout as lines of case,size,metric,value.
 */
#include <sys/socket.h>

#include "bench.h"

#include CONTESTANT

#define EXIT_USAGE 2
#define BLOCKS 1000000u
#define GROUPS 15u
#define MEMBERS 50u

static double now(void)
{
	return (double)bench_ns(CLOCK_MONOTONIC) / 1e9;
}

static void *map_pointers(size_t n)
{
	void *objs = mmap(NULL, n * sizeof(void *), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (objs == MAP_FAILED)
		bench_fail("no memory for %zu pointers", n);
	return objs;
}

static void open_cache(size_t size)
{
	const char *why = contestant_open(size);

	if (why)
		bench_fail("%s", why);
}

static void *object_alloc(void)
{
	void *obj = OBJ_ALLOC();

	*(volatile uintptr_t *)obj = 1;
	return obj;
}

static void object_free(void *obj)
{
	OBJ_FREE(obj);
}

/*
 * Slide 26: the same load on all. The caches are those of slide 21, sizes and numbers of objects (a
 * tenth of them). As in a system that has run for a while, a third more objects were allocated, and
 * a random choice of them freed.
 */
static const struct {
	unsigned objects, size;
} desktop[] = {
	{41635, 40}, {7, 24},   {3121, 32}, {564, 2048}, {384, 2112},   {412, 4096},   {51, 80},
	{8423, 56},  {34, 816}, {17, 1896}, {168, 376},  {191961, 192}, {163882, 976}, {27, 328},
	{23, 1760},  {3, 1920}, {72, 888},  {60, 1048},  {20680, 184},
};

#define DESKTOP_PART 10u
#define DESKTOP_CACHES (sizeof(desktop) / sizeof(desktop[0]))

/* Allocate n and a third more, and free the surplus in random order. Returns bytes in use. */
static size_t fill_cache(unsigned n, unsigned size, uint64_t *random)
{
	const unsigned all = n + n / 3 + 1;
	void **objs = map_pointers(all);

	open_cache(size);
	for (unsigned i = 0; i < all; i++)
		objs[i] = object_alloc();
	for (unsigned i = all; i > n; i--) {
		unsigned k = (unsigned)(bench_random(random) % i);

		OBJ_FREE(objs[k]);
		objs[k] = objs[i - 1];
	}
	munmap(objs, all * sizeof(void *));
	return (size_t)n * size;
}

static void run_memory(void)
{
	const long before = bench_resident();
	uint64_t random = 88172645463325252u;
	size_t used = 0;

	for (size_t i = 0; i < DESKTOP_CACHES; i++)
		used += fill_cache(desktop[i].objects / DESKTOP_PART + 1, desktop[i].size, &random);
	printf("memory,0,used,%zu\n", used);
	printf("memory,0,resident,%ld\n", bench_resident() - before);
}

/* The seed on the parameter block: a million blocks are allocated, then freed. */
static void run_block(size_t size)
{
	void **objs = map_pointers(BLOCKS);
	double start;

	open_cache(size);
	start = now();
	for (unsigned i = 0; i < BLOCKS; i++)
		objs[i] = object_alloc();
	for (unsigned i = 0; i < BLOCKS; i++)
		OBJ_FREE(objs[i]);
	printf("block,%zu,time,%.6f\n", size, now() - start);
}

/*
 * Slide 29: hackbench as threads of one process: in each group every sender passes messages to
 * every receiver.
 *
 * A message is an object of the cache. The sender allocates it, fills it, and writes its address to
 * the receiver's socket; the receiver reads the address and the message, and frees it. So half of
 * the work is that of the kernel's sockets, as in the original, and each object is allocated by one
 * thread and freed by another.
 */

#define MESSAGE_BYTES 512u
#define STACK_BYTES ((size_t)64 << 10)

struct group {
	unsigned members, messages;
	int (*pair)[2]; /* of each receiver */
	pthread_barrier_t *start;
};

struct member {
	const struct group *group;
	unsigned self;
};

static void send_one(int fd)
{
	void *message = object_alloc();

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
			send_one(group->pair[to][0]);
	return NULL;
}

static void receive_one(int fd)
{
	unsigned char *message;

	/* An address is never split: all that is written has its size. */
	while (read(fd, &message, sizeof(message)) != (ssize_t)sizeof(message))
		if (errno != EINTR)
			bench_fail("cannot read from a socket: %s", strerror(errno));
	for (unsigned i = 0; i < MESSAGE_BYTES; i += 64)
		(void)*(volatile unsigned char *)&message[i];
	object_free(message);
}

static void *receiver(void *arg)
{
	const struct member *self = arg;
	const struct group *group = self->group;

	pthread_barrier_wait(group->start);
	for (unsigned i = 0; i < group->messages * group->members; i++)
		receive_one(group->pair[self->self][1]);
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

static double hackbench(unsigned groups, unsigned members, unsigned messages)
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
		group[i] = (struct group){members, messages, NULL, &start};
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

static void run_hackbench(unsigned messages)
{
	double seconds;

	bench_unpin();
	open_cache(512);
	seconds = hackbench(GROUPS, MEMBERS, messages);
	printf("hackbench,512,time,%.4f\n", seconds);
}

static _Noreturn void usage(void)
{
	fprintf(stderr, "usage: %s memory | hackbench MESSAGES | block SIZE\n", CONTESTANT_NAME);
	exit(EXIT_USAGE);
}

static unsigned number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n < 8 || n > 32768)
		usage();
	return (unsigned)n;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	bench_calibrate();
	bench_pin(bench_cpu(0));
	if (strcmp(what, "memory") == 0 && argc == 2)
		run_memory();
	else if (strcmp(what, "block") == 0 && argc == 3)
		run_block(number(argv[2]));
	else if (strcmp(what, "hackbench") == 0 && argc == 3)
		run_hackbench(number(argv[2]));
	else
		usage();
	return EXIT_SUCCESS;
}
