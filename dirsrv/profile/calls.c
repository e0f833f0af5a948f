/* SPDX-License-Identifier: MIT */
/* The trace of calls, and its file. */
#include "calls.h"

#include "record.h"

#include <slab/dirsrv/profile.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- files: written under a temporary name, and renamed when complete ----------------------- */

int file_name(char ret[PATH_MAX], const char *name)
{
	size_t len = 0;

	if (*name != '/') {
		if (!getcwd(ret, PATH_MAX))
			return errno == ERANGE ? -ENAMETOOLONG : -errno;
		len = strlen(ret);
		if (len + 1 == PATH_MAX)
			return -ENAMETOOLONG;
		ret[len++] = '/';
	}
	if (strlen(name) >= PATH_MAX - len)
		return -ENAMETOOLONG;
	memcpy(ret + len, name, strlen(name) + 1);
	return 0;
}

static int finish(FILE *out, int error)
{
	if (!error && fflush(out) != 0)
		error = -errno;
	if (!error && ferror(out))
		error = -EIO;
	if (fclose(out) != 0 && !error)
		error = -errno;
	return error;
}

static int write_to(int fd, int (*print)(FILE *out, const void *arg), const void *arg)
{
	FILE *out = fdopen(fd, "w");

	if (!out) {
		close(fd);
		return -ENOMEM;
	}
	return finish(out, print(out, arg));
}

/* The temporary name contains this process's pid, so an existing file is a leftover. */
int file_write(const char *name, int (*print)(FILE *out, const void *arg), const void *arg)
{
	char beside[PATH_MAX + 16];
	int fd, error;

	snprintf(beside, sizeof(beside), "%s.%d.tmp", name, (int)getpid());
	unlink(beside);
	fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	error = write_to(fd, print, arg);
	if (!error && rename(beside, name) != 0)
		error = -errno;
	if (error)
		unlink(beside);
	return error;
}

/* --- calls ---------------------------------------------------------------------------------- */

/*
 * The trace of calls: recording them in slots, and writing them as text. The trace has numbers for
 * pblocks; a tree leads from a pblock's address to its number.
 */

#define LOCKS 64

struct call {
	uintptr_t pblock, detail;
	enum call_verb verb;
};
_Static_assert(sizeof(struct call) == 24, "as the manual says");

/* The number of a pblock in the trace; it is reused after the pblock ends. */
struct name {
	uintptr_t pblock;
	uint32_t number;
	bool alive;
	struct name *older, *next_free;
};

struct writer {
	FILE *out;
	void *tree; /* those alive, by pblock */
	struct name *newest, *free;
};

static struct lock {
	_Alignas(64) pthread_mutex_t lock;
} locks[LOCKS];
static struct call *calls;
static _Alignas(64) uint64_t made; /* atomic: the number of calls, also of those without a slot */

/* Recording */

uint32_t pblock_recording;
uint32_t pblock_quick_numbers = SLAB_PBLOCK_NUMBERS;

void calls_record(bool on)
{
	__atomic_store_n(&pblock_recording, on, __ATOMIC_RELEASE);
	__atomic_store_n(&pblock_quick_numbers, on ? 0 : SLAB_PBLOCK_NUMBERS, __ATOMIC_RELEASE);
}

void calls_prepare(void)
{
	for (unsigned i = 0; i < LOCKS; i++)
		pthread_mutex_init(&locks[i].lock, NULL);
}

int calls_open(void)
{
	void *room = mmap(NULL, CALLS_MAX * sizeof(*calls), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (room == MAP_FAILED)
		return -ENOMEM;
	calls = room;
	return 0;
}

void calls_close(void)
{
	munmap(calls, CALLS_MAX * sizeof(*calls));
	calls = NULL;
}

void pblock_record(enum call_verb verb, const struct slapi_pblock *pb, uintptr_t detail)
{
	uintptr_t key = (uintptr_t)pb;
	pthread_mutex_t *lock = &locks[(key >> 6 ^ key >> 12) % LOCKS].lock;

	pthread_mutex_lock(lock);
	if (__atomic_load_n(&pblock_recording, __ATOMIC_ACQUIRE)) {
		uint64_t number = __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);

		if (number < CALLS_MAX)
			calls[number] = (struct call){key, detail, verb};
	}
	pthread_mutex_unlock(lock);
}

void calls_lock(void)
{
	for (unsigned i = 0; i < LOCKS; i++)
		pthread_mutex_lock(&locks[i].lock);
}

void calls_unlock(void)
{
	for (unsigned i = 0; i < LOCKS; i++)
		pthread_mutex_unlock(&locks[i].lock);
}

void calls_forget(void)
{
	made = 0;
}

/* Names */

static int compare_names(const void *one, const void *other)
{
	uintptr_t a = ((const struct name *)one)->pblock, b = ((const struct name *)other)->pblock;

	return (a > b) - (a < b);
}

/* The name of a pblock; NULL: the pblock began before the trace. */
static struct name *find_name(struct writer *writer, uintptr_t pblock)
{
	struct name wanted = {.pblock = pblock};
	struct name *const *found = tfind(&wanted, &writer->tree, compare_names);

	return found ? *found : NULL;
}

static struct name *unused_name(struct writer *writer)
{
	struct name *name = writer->free;

	if (name) {
		writer->free = name->next_free;
		return name;
	}
	name = malloc(sizeof(*name));
	if (!name)
		return NULL;
	*name = (struct name){.older = writer->newest};
	name->number = writer->newest ? writer->newest->number + 1 : 1;
	writer->newest = name;
	return name;
}

static struct name *give_name(struct writer *writer, uintptr_t pblock)
{
	struct name *name = unused_name(writer);

	if (!name)
		return NULL;
	name->pblock = pblock;
	name->alive = tsearch(name, &writer->tree, compare_names);
	return name->alive ? name : NULL;
}

static void take_name(struct writer *writer, struct name *name)
{
	tdelete(name, &writer->tree, compare_names);
	name->alive = false;
	name->next_free = writer->free;
	writer->free = name;
}

/* Writing */

static void print_end(struct writer *writer, struct name *name)
{
	fprintf(writer->out, "destroy %" PRIu32 "\n", name->number);
	take_name(writer, name);
}

/* Write the beginning of a pblock, as a clone of `from`, or as new if that is NULL. false: no
 * memory. */
static bool print_begin(struct writer *writer, uintptr_t pblock, const struct name *from)
{
	struct name *name = find_name(writer, pblock);

	if (name) /* the end of the pblock before at this address was not recorded */
		print_end(writer, name);
	name = give_name(writer, pblock);
	if (!name)
		return false;
	if (from)
		fprintf(writer->out, "clone %" PRIu32 " %" PRIu32 "\n", from->number, name->number);
	else
		fprintf(writer->out, "new %" PRIu32 "\n", name->number);
	return true;
}

static bool print_call(struct writer *writer, const struct call *call)
{
	struct name *name = find_name(writer, call->pblock);

	if (call->verb == CALL_NEW || (call->verb == CALL_INIT && !name))
		return print_begin(writer, call->pblock, NULL);
	if (call->verb == CALL_CLONE)
		return print_begin(writer, call->detail, name);
	if (!name)
		return true;
	if (call->verb == CALL_DESTROY)
		print_end(writer, name);
	else if (call->verb == CALL_INIT)
		fprintf(writer->out, "init %" PRIu32 "\n", name->number);
	else
		fprintf(writer->out, "%s %" PRIu32 " %" PRIuPTR "\n",
			call->verb == CALL_SET ? "set" : "get", name->number, call->detail);
	return true;
}

static void print_head(FILE *out, uint64_t dropped)
{
	fprintf(out, "# Recorded from a process; pblock-replay(1) reads it.\n");
	if (dropped)
		fprintf(out, "# %" PRIu64 " later calls had no room beside the first %d.\n",
			dropped, CALLS_MAX);
}

static void free_names(struct writer *writer)
{
	while (writer->newest) {
		struct name *name = writer->newest;

		writer->newest = name->older;
		if (name->alive)
			tdelete(name, &writer->tree, compare_names);
		free(name);
	}
}

static int print_trace(FILE *out, const void *arg)
{
	uint64_t count = made < CALLS_MAX ? made : CALLS_MAX;
	struct writer writer = {.out = out};
	bool done = true;

	(void)arg;
	print_head(out, made - count);
	for (uint64_t i = 0; done && i < count; i++)
		done = print_call(&writer, &calls[i]);
	for (struct name *name = writer.newest; done && name; name = name->older)
		if (name->alive)
			print_end(&writer, name);
	free_names(&writer);
	return done ? 0 : -ENOMEM;
}

int calls_write(const char *file)
{
	return file_write(file, print_trace, NULL);
}
