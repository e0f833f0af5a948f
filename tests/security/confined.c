/* SPDX-License-Identifier: MIT */
/*
 * A program that may make the system calls of libslab, those of libc that it needs itself, and no
 * others: any other one kills it (SIGSYS). It uses libslab from the first cache on under that
 * filter, so the list of docs/security.md, which is syscalls.def, is long enough.
 *
 * It writes "ready" when it has caches, and goes on at the next line of its input: slabinfo can
 * switch debug flags in between.
 */
#define _GNU_SOURCE
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <slab/debug.h>
#include <slab/malloc.h>
#include <slab/memory.h>
#include <slab/slab.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define OBJECTS 2000

static const unsigned allowed[] = {
#define CALL(name) SYS_##name,
#include "syscalls.def"
#undef CALL
	/* What this program and libc do by themselves: input and output, threads, fork, the end. */
	SYS_getrandom, SYS_exit, SYS_exit_group, SYS_rseq, SYS_set_robust_list, SYS_wait4, SYS_brk,
};

static void confine(void)
{
	static struct sock_filter filter[2 * LENGTH(allowed) + 3];
	struct sock_fprog program = {.filter = filter};
	unsigned n = 0;

	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						   offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < LENGTH(allowed); i++) {
		filter[n++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
		filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	program.len = (unsigned short)n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
		puts("no filter");
		exit(77);
	}
}

static void use(struct slab_cache *cache)
{
	static __thread void *objects[OBJECTS];

	for (unsigned i = 0; i < OBJECTS; i++) {
		objects[i] = i % 2 ? slab_alloc(cache) : slab_malloc(i * 37);
		if (!objects[i])
			abort();
		memset(objects[i], 1, 1);
	}
	for (unsigned i = 0; i < OBJECTS; i++) {
		if (i % 2)
			slab_free(cache, objects[i]);
		else
			slab_mfree(objects[i]);
	}
}

static void *use_in_thread(void *cache)
{
	for (int i = 0; i < 4; i++)
		use(cache);
	return NULL;
}

static void use_in_threads(struct slab_cache *cache)
{
	pthread_t threads[4];

	for (unsigned i = 0; i < LENGTH(threads); i++)
		if (pthread_create(&threads[i], NULL, use_in_thread, cache) != 0)
			abort();
	for (unsigned i = 0; i < LENGTH(threads); i++)
		pthread_join(threads[i], NULL);
}

static void use_in_child(struct slab_cache *cache)
{
	int status;
	const pid_t child = fork();

	if (child == 0) {
		struct slab_cache *own = slab_cache_create("child", 40, NULL, 0);

		use(cache);
		slab_free(own, slab_alloc(own));
		_exit(slab_cache_destroy(own) ? 1 : 0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		abort();
}

/* Reports of a write beyond an object, and of a free into the wrong cache. */
static void misuse(struct slab_cache *cache, struct slab_cache *other)
{
	char *object = slab_alloc(cache);

	((volatile char *)object)[100] = 'x';
	slab_free(cache, object);
	slab_free(other, slab_alloc(cache));
}

static size_t reclaim(struct slab_cache *cache, void *unused)
{
	(void)cache;
	(void)unused;
	return 0;
}

static void grow_large(void)
{
	void *large = slab_realloc(slab_malloc(1 << 20), 64 << 20);

	if (!large)
		abort();
	slab_mfree(large);
}

static void give_back(struct slab_cache *cache)
{
	slab_cache_shrink(cache);
	slab_cache_validate(cache);
	slab_trim();
	slab_maintain();
}

int main(void)
{
	const struct slab_cache_args args = {.reclaim = reclaim};
	struct slab_cache *cache, *other;
	char line[8];

	setvbuf(stdout, NULL, _IONBF, 0);
	confine();
	cache = slab_cache_create("object", 100, NULL, 0);
	other = slab_cache_create("other", 100, &args, 0);
	if (!cache || !other)
		return 1;
	use(cache);
	use_in_threads(cache);
	puts("ready");
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "end\n") != 0) {
		use_in_threads(cache);
		misuse(cache, other);
		use_in_child(cache);
		give_back(cache);
		grow_large();
		puts("done");
	}
	puts("end");
	return 0;
}
