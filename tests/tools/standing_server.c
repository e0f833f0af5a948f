/* SPDX-License-Identifier: MIT */
/*
 * A process whose objects are reachable in every way, until a test has it lose or damage some. It
 * prints "ready 0"; each character of its input is a thing to do, "done" says that it did.
 */
#include "core/cache.h"
#include "core/slab.h"
#include "pages/segment.h"

#include <pthread.h>
#include <signal.h>
#include <slab/debug.h>
#include <slab/malloc.h>
#include <slab/slab.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define LISTED 50
#define BUFFER 48

struct node {
	struct node *next;
	char text[56];
};

static struct slab_cache *nodes, *tracked, *plain, *holders, *buffers;

/* What keeps objects reachable; the compiler must not leave it out. */
static struct node *volatile list;
static char *volatile inside;                /* leads into an object, not to its start */
static struct node *volatile *volatile in_malloc; /* a block of malloc() with the only pointer */
static struct node *volatile *volatile in_large; /* a large allocation with the only pointer */
static __thread struct node *volatile local; /* thread-local storage */
static void *volatile kept[2];
static pthread_barrier_t started;

static NOINLINE struct node *node_new(struct node *next)
{
	struct node *node = slab_zalloc(nodes);

	node->next = next;
	return node;
}

/* The stack of this thread has the only pointer to a node. */
static void *hold_on_stack(void *arg)
{
	struct node *volatile mine = node_new(NULL);

	pthread_barrier_wait(&started);
	for (;;)
		pause();
	return mine->next ? arg : NULL;
}

/* A constructed object owns a buffer, also while it is free. */
static int construct(void *obj, void *arg)
{
	(void)arg;
	*(void **)obj = slab_alloc(buffers);
	return 0;
}

static void destroy(void *obj, void *arg)
{
	(void)arg;
	slab_free(buffers, *(void **)obj);
}

static void create_caches(void)
{
	struct slab_cache_args args = {.ctor = construct, .dtor = destroy};

	nodes = slab_cache_create("node", sizeof(struct node), NULL, SLAB_PANIC);
	tracked = slab_cache_create("tracked", 64, NULL, SLAB_DEBUG_DEFAULT | SLAB_PANIC);
	plain = slab_cache_create("plain", 4096, NULL, SLAB_PANIC);
	buffers = slab_cache_create("buffer", BUFFER, NULL, SLAB_PANIC);
	holders = slab_cache_create("holder", 32, &args, SLAB_PANIC);
}

static NOINLINE void reach_everything(void)
{
	pthread_t thread;

	for (int i = 0; i < LISTED; i++)
		list = node_new(list);
	inside = (char *)node_new(NULL) + 9;
	in_malloc = calloc(10, sizeof(*in_malloc));
	in_malloc[3] = node_new(NULL);
	in_large = slab_malloc(200000);
	memset((void *)in_large, 0, 200000);
	in_large[20000] = node_new(NULL);
	local = node_new(NULL);
	kept[0] = slab_alloc(tracked);
	slab_free(holders, slab_alloc(holders));
	pthread_barrier_init(&started, NULL, 2);
	pthread_create(&thread, NULL, hold_on_stack, NULL);
	pthread_barrier_wait(&started);
}

/* --- losing --------------------------------------------------------------------------- */

/* Three nodes in a chain, of which the first is lost. */
static NOINLINE void lose_chain(void)
{
	node_new(node_new(node_new(NULL)));
}

static NOINLINE void lose_circle(void)
{
	struct node *node = node_new(NULL);

	node->next = node_new(node);
}

static NOINLINE void lose_large(void)
{
	memset(slab_malloc(300000), 0, 300000);
}

/* Too large for a slab: it gets a mapping of its own. */
static NOINLINE void lose_mapped(void)
{
	memset(slab_malloc(20000000), 0, 20000000);
}

/* One call site: a loop with a volatile variable is not unrolled. */
static NOINLINE void lose_tracked(void)
{
	for (volatile int i = 0; i < 5; i++)
		((char *volatile)slab_alloc(tracked))[0] = 0;
}

/* --- giving to the kernel -------------------------------------------------------------- */

#define WATCHED 100

/* The kernel alone has the pointers to these nodes. */
static NOINLINE void watch_nodes(void)
{
	const int epoll = epoll_create1(0);

	for (int i = 0; i < WATCHED; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = node_new(NULL)};

		if (epoll_ctl(epoll, EPOLL_CTL_ADD, eventfd(0, 0), &event) != 0)
			abort();
	}
}

static void block_signal(void)
{
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &blocked, NULL);
}

/* Two signals that wait: for the process and for a thread. */
static NOINLINE void queue_nodes(void)
{
	union sigval value = {.sival_ptr = node_new(NULL)};

	sigqueue(getpid(), SIGRTMIN, value);
	value.sival_ptr = node_new(NULL);
	pthread_sigqueue(pthread_self(), SIGRTMIN, value);
}

static NOINLINE void time_node(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
	timer_t timer;

	event.sigev_value.sival_ptr = node_new(NULL);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
}

/* Prints a line if there is no io_uring. */
static NOINLINE void open_io_uring(void)
{
	char parameters[120] = "";

	if (syscall(SYS_io_uring_setup, 1, parameters) < 0)
		puts("no io_uring");
}

/* The parent of vfork() sleeps in the kernel, and no signal wakes it. */
static NOINLINE void sleep_deep(void)
{
	/* NOLINTNEXTLINE(bugprone-unsafe-functions): what is tested */
	if (vfork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
}

/* --- growing -------------------------------------------------------------------------- */

#define MANY_NODES 500000
#define MANY_PLAIN 12000
#define HALF_TOUCHED ((size_t)32 << 20)

/* Some hundred megabytes, nearly all of them libslab's. */
static NOINLINE void grow(void)
{
	char *half = slab_malloc(HALF_TOUCHED);

	in_large[0] = (struct node *)(void *)half;
	memset(half, 0, HALF_TOUCHED / 2);
	for (size_t at = HALF_TOUCHED / 2; at < HALF_TOUCHED; at += 4096)
		*(const volatile char *)(half + at); /* maps the zero page */
	for (int i = 0; i < MANY_NODES; i++)
		list = node_new(list);
	for (int i = 0; i < MANY_PLAIN; i++) {
		struct node *block = slab_alloc(plain);

		memset(block, 0, 4096);
		block->next = list;
		list = block;
	}
}

/* --- damaging -------------------------------------------------------------------------- */

static NOINLINE void overflow(void)
{
	((char *volatile)kept[0])[64] = 'x';
}

static NOINLINE void write_after_free(void)
{
	char *volatile object = slab_alloc(tracked);

	slab_free(tracked, object);
	object[10] = 'y';
}

/* As slab_of(), which needs a symbol that the library hides. */
static struct slab *slab_at(const void *obj)
{
	struct slab **table = (struct slab **)(segment_start(obj) + SEGMENT_TABLE_OFFSET);

	return table[(uintptr_t)obj >> SEGMENT_UNIT_SHIFT & (SEGMENT_UNITS - 1)];
}

/* An object in use is marked as free. */
static NOINLINE void damage_map(void)
{
	struct slab *slab;
	unsigned index;

	kept[1] = slab_alloc(plain);
	slab = slab_at(kept[1]);
	index = slab_index(plain, slab, kept[1]);
	slab->map[index / 64] |= UINT64_C(1) << index % 64;
}

/* Freed twice: the array of the CPU holds it twice. */
static NOINLINE void hold_twice(void)
{
	void *volatile object = slab_alloc(plain); /* the compiler must not see the second free */
	void *other = slab_alloc(plain);

	slab_free(plain, object);
	slab_free(plain, other);
	slab_free(plain, object);
}

static NOINLINE void damage_count(void)
{
	plain->shard[0].partial += 3;
}

static NOINLINE void hold_lock(void)
{
	pthread_mutex_lock(&tracked->node[0].lock);
}

#ifdef __x86_64__
#define CLEAR(r) "pxor %%xmm" #r ", %%xmm" #r "\n\t"

#define CLEAR512(r) "vpxorq %%zmm" #r ", %%zmm" #r ", %%zmm" #r "\n\t"

/* memcpy() of the C library moves pointers through them. */
static void clear_wide_registers(void)
{
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroupper");
	if (__builtin_cpu_supports("avx512f"))
		__asm__ volatile(CLEAR512(16) CLEAR512(17) CLEAR512(18) CLEAR512(19) CLEAR512(20)
					 CLEAR512(21) CLEAR512(22) CLEAR512(23) CLEAR512(24)
						 CLEAR512(25) CLEAR512(26) CLEAR512(27) CLEAR512(28)
							 CLEAR512(29) CLEAR512(30) CLEAR512(31)::
								 : "memory");
}

/* Vector registers, and r8 to r11: compilers leave addresses there. Those of arguments get other
 * values soon. */
static void clear_registers(void)
{
	clear_wide_registers();
	__asm__ volatile(CLEAR(0) CLEAR(1) CLEAR(2) CLEAR(3) CLEAR(4) CLEAR(5) CLEAR(6) CLEAR(7)
				 CLEAR(8) CLEAR(9) CLEAR(10) CLEAR(11) CLEAR(12) CLEAR(13) CLEAR(14)
					 CLEAR(15) "xor %%r8d, %%r8d\n\txor %%r9d, %%r9d\n\t"
						   "xor %%r10d, %%r10d\n\txor %%r11d, %%r11d" ::
							   : "r8", "r9", "r10", "r11", "cc", "xmm0",
							     "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
							     "xmm6", "xmm7", "xmm8", "xmm9",
							     "xmm10", "xmm11", "xmm12", "xmm13",
							     "xmm14", "xmm15");
}
#else
static void clear_registers(void) {}
#endif

/* What was lost may have its address in the stack below and in registers. */
static NOINLINE void forget(void)
{
	char below[16384];

	memset(below, 0, sizeof(below));
	__asm__ volatile("" : : "r"(below) : "memory");
	clear_registers();
}

static void do_task(char task)
{
	switch (task) {
	case 'c':
		lose_chain();
		break;
	case 'o':
		lose_circle();
		break;
	case 'L':
		lose_large();
		break;
	case 'M':
		lose_mapped();
		break;
	case 't':
		lose_tracked();
		break;
	case 'b':
		grow();
		break;
	case 'e':
		watch_nodes();
		break;
	case 'q':
		queue_nodes();
		break;
	case 'T':
		time_node();
		break;
	case 'u':
		open_io_uring();
		break;
	case 'd':
		sleep_deep();
		break;
	case 'z':
		overflow();
		break;
	case 'w':
		write_after_free();
		break;
	case 'f':
		damage_map();
		break;
	case 'h':
		hold_twice();
		break;
	case 'n':
		damage_count();
		break;
	case 'k':
		hold_lock();
		break;
	default:
		break;
	}
}

int main(void)
{
	char task[2];

	block_signal();
	create_caches();
	reach_everything();
	forget();
	puts("ready 0");
	fflush(stdout);
	while (read(STDIN_FILENO, task, sizeof(task)) == sizeof(task)) {
		do_task(task[0]);
		forget();
		puts("done");
		fflush(stdout);
	}
	return inside && local ? 0 : 1;
}
