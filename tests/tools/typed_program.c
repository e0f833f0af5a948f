/* SPDX-License-Identifier: MIT */
/*
 * A program of ordinary C, which types_test.py compiles with tokens. It waits for a line before it
 * ends; with an argument it writes behind a session first.
 */
#include <stdio.h>
#include <stdlib.h>

struct session {
	int number;
	struct session *next;
};
struct packet {
	char bytes[200];
};
struct twice {
	long one;
};
typedef struct {
	int kind;
	char name[];
} record;

void *pool_alloc(size_t size) __attribute__((malloc, alloc_size(1), noinline));

void *pool_alloc(size_t size)
{
	return (char *)malloc(size); /* what the caller says counts */
}

#ifdef WRAPPED
#include <slab/token.h>
SLAB_TOKEN_WRAPPER(void *, pool_alloc, (size_t size), (size))
#endif

/* Another type of this name: to the compiler they are one. */
static void *other_twice(void)
{
	struct twice {
		long one, other;
	} *twice = malloc(sizeof(struct twice));

	twice->other = 1;
	return twice;
}

static void *kept[502];

/* Volatile: the compiler leaves out what is freed at once. */
static void write_behind(struct session *session, int bytes)
{
	volatile char *end = (volatile char *)(session + 1);

	for (int i = 0; i < bytes; i++)
		end[i] = 1;
}

int main(int argc, char **argv)
{
	struct session *last;
	struct packet *packet;
	record *entry;
	struct twice *twice;

	for (unsigned i = 0; i < 100; i++) {
		kept[i] = malloc(sizeof(struct session));
		kept[100 + i] = packet = calloc(1, sizeof(struct packet));
		kept[200 + i] = entry = malloc(sizeof(record) + 10 + i % 2 * 100);
		packet->bytes[0] = (char)i;
		entry->kind = (int)i;
		kept[300 + i] = pool_alloc(2 * sizeof(unsigned long));
		kept[400 + i] = twice = malloc(sizeof(struct twice));
		twice->one = 1;
	}
	kept[501] = other_twice();
	kept[500] = calloc(1000, sizeof(struct packet));
	kept[500] = realloc(kept[500], 2000 * sizeof(struct packet));
	puts("ready");
	fflush(stdout);
	getchar();
	last = malloc(sizeof(struct session));
	if (argc > 1)
		write_behind(last, atoi(argv[1]));
	free(last);
	for (unsigned i = 0; i < 502; i++)
		free(kept[i]);
	return 0;
}
