/* SPDX-License-Identifier: MIT */
/*
 * The comparison. Each side runs in processes of its own (round.c), so that neither finds
 * memory that the other has warmed, and in turn, so that both see the same
 * weather.
 */
#include "fill.h"
#include "inspect.h"
#include "screen.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 2

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

int compare_sides(const struct args *args)
{
	size_t rounds = args->seconds < ROUNDS ? 1 : ROUNDS;
	double seconds = args->seconds / (double)rounds;
	/* Too large for a stack of unknown size. */
	static struct result slab[ROUNDS], other[ROUNDS];
	struct picture picture;
	int status = check_source(args);

	if (status)
		return status;
	for (size_t i = 0; i < rounds; i++) {
		printf("%sRound %zu of %zu on libslab\n", i ? "\n" : "", i + 1, rounds);
		if (run_round(args, false, seconds, i == 0, &slab[i]))
			return 1;
		printf("\nRound %zu of %zu on malloc\n", i + 1, rounds);
		if (run_round(args, true, seconds, false, &other[i]))
			return 1;
	}
	if (picture_make(&picture, args))
		return 1;
	screen_compare(slab, other, rounds);
	if (picture.made)
		screen_picture(picture.folder);
	return 0;
}
