/* SPDX-License-Identifier: MIT */
/*
 * The profiler's picture of this load. Recording takes longer than the load itself, so it
 * has a round of its own, which is not timed. The report is in the folder "demo" beside
 * that of the programs.
 */
#include "inspect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECONDS_MAX 1.0

/* As a user would call it: relative to the working directory, where it is below that. */
static const char *shorter(const char *path)
{
	char here[PATH_MAX];
	size_t length = getcwd(here, sizeof(here)) ? strlen(here) : 0;

	if (length && strncmp(path, here, length) == 0 && path[length] == '/')
		return path + length + 1;
	return path;
}

/* Where the report goes; false, and one line, when there is no such place. */
static bool make_folder(char path[PATH_MAX])
{
	char beside[PATH_MAX];

	if (beside_program("../demo", beside, sizeof(beside)))
		return false;
	if ((mkdir(beside, 0777) == 0 || errno == EEXIST) && realpath(beside, path))
		return true;
	printf("(the use of pblocks is not recorded: %s: %s)\n", beside, strerror(errno));
	return false;
}

static int record(const struct args *args, const char *file)
{
	const struct run run = {
		.seconds = args->seconds < SECONDS_MAX ? args->seconds : SECONDS_MAX,
	};
	static struct result result;
	int status;

	printf("\nA round that is not timed, in which the use of pblocks is recorded\n");
	unlink(file); /* never the picture of another run */
	setenv("SLAB_PBLOCK_PROFILE", file, 1);
	status = run_round(args, &run, &result);
	unsetenv("SLAB_PBLOCK_PROFILE");
	return status;
}

static bool report(const char *profile, const char *svg, const char *text)
{
	char option[2 * PATH_MAX];
	char *draw[] = {"pblock-profile", option, (char *)profile, NULL};
	char *print[] = {"pblock-profile", (char *)profile, NULL};

	snprintf(option, sizeof(option), "--svg=%s", svg);
	return run_beside(draw, NULL) && run_beside(print, text);
}

int picture_make(struct picture *picture, const struct args *args)
{
	char profile[PATH_MAX + 32], svg[PATH_MAX + 32], text[PATH_MAX + 32], folder[PATH_MAX];

	picture->made = false;
	if (!make_folder(folder))
		return 0;
	snprintf(picture->folder, sizeof(picture->folder), "%s", shorter(folder));
	snprintf(profile, sizeof(profile), "%s/directory.json", folder);
	snprintf(svg, sizeof(svg), "%s/pblock-profile.svg", folder);
	snprintf(text, sizeof(text), "%s/pblock-profile.txt", folder);
	if (record(args, profile))
		return -1;
	picture->made = report(profile, svg, text);
	return 0;
}
