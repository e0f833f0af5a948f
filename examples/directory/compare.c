/* SPDX-License-Identifier: MIT */
/*
 * The comparison. Each side runs in processes of its own (round.c), so that none finds
 * memory that another has warmed, and in turn, so that what else the machine does
 * meanwhile meets all of them.
 */
#include "compare.h"

#include "fill.h"
#include "inspect.h"
#include "preload.h"
#include "screen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COUNT (sizeof(sides) / sizeof(sides[0]))

/* libslab and the malloc() that every machine has come first: the demo fails when one of
 * them does. Static, since results are too large for a stack of unknown size. */
static struct side sides[] = {
	{.name = "libslab"},
	{.name = "glibc", .on_malloc = true},
	{.name = "jemalloc", .on_malloc = true, .library = "libjemalloc.so.2"},
	{.name = "tcmalloc", .on_malloc = true, .library = "libtcmalloc_minimal.so.4"},
	{.name = "mimalloc", .on_malloc = true, .library = "libmimalloc.so.2"},
};
_Static_assert(COUNT <= SIDES_MAX, "the table has a column for each");

int malloc_program(char **argv)
{
	char path[4096];

	if (beside_program("directory-malloc", path, sizeof(path)) == 0) {
		execv(path, argv);
		fprintf(stderr, "directory: cannot run %s: %s\n", path, strerror(errno));
	}
	return 1;
}

/* Read the source once, so that its bad lines are reported once and nothing
 * runs when they are refused. */
static int check_source(const struct args *args)
{
	struct directory directory;
	int status = directory_read(&directory, args);

	if (status)
		return status;
	return directory_free(&directory) ? 1 : 0;
}

static void find_libraries(const struct args *args)
{
	for (struct side *side = sides; side < sides + COUNT; side++)
		if (side->library &&
		    !preload_find(args->allocators, side->library, side->path, sizeof(side->path)))
			side->left_out = "is not installed";
}

/* One round of a side. -1: the demo cannot go on, which was said. */
static int play(struct side *side, size_t round, const struct run *run, const struct args *args)
{
	struct result *result = &side->results[round];

	if (run_round(args, run, result)) {
		side->left_out = "is installed, but its process failed";
		return side->library ? 0 : -1;
	}
	if (side->library && strcmp(result->malloc_from, side->path) != 0)
		side->left_out = "is installed, but has not replaced malloc()";
	return 0;
}

/* Every other round has the sides in reverse order: what the machine does more and more of
 * meanwhile is then no disadvantage to the later ones. */
static int play_round(size_t round, size_t rounds, const struct args *args)
{
	for (size_t i = 0; i < COUNT; i++) {
		struct side *side = &sides[round % 2 ? COUNT - 1 - i : i];
		struct run run = {
			.on_malloc = side->on_malloc,
			.preload = side->library ? side->path : NULL,
			.seconds = args->seconds / (double)rounds,
			.show_slabinfo = round == 0,
		};

		if (side->left_out)
			continue;
		printf("%sRound %zu of %zu on %s", round || i ? "\n" : "", round + 1, rounds,
		       side->name);
		if (side->library)
			printf(" (%s)", side->path);
		putchar('\n');
		if (play(side, round, &run, args))
			return -1;
	}
	return 0;
}

int compare_sides(const struct args *args)
{
	size_t rounds = args->seconds < ROUNDS_MAX ? 1 : ROUNDS_MAX;
	struct picture picture;
	int status = check_source(args);

	if (status)
		return status;
	find_libraries(args);
	for (size_t i = 0; i < rounds; i++)
		if (play_round(i, rounds, args))
			return 1;
	if (picture_make(&picture, args))
		return 1;
	table_show(sides, COUNT, rounds);
	if (picture.made)
		screen_picture(picture.folder);
	return 0;
}
