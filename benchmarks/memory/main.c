/* SPDX-License-Identifier: MIT */
/*
 * The program: what it is asked for.
 *
 *   memory-malloc|memory-slab [-m] peak WHAT MEBIBYTES
 *   memory-malloc|memory-slab [-m] churn SECONDS
 *   memory-malloc|memory-slab small caches|classes
 *   memory-malloc|memory-slab aging pool|holes|snapshot|phases|silence
 *
 * -m: objects may be moved. WHAT: entries, objects, 64, 240, 712 or 2112.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "record.h"

#define EXIT_USAGE 2
#define MAX_MIB 65536
#define MAX_SECONDS 86400

/* --- arguments -------------------------------------------------------------------------------- */

static _Noreturn void usage(void)
{
	fprintf(stderr, "usage: memory-malloc|memory-slab [-m] peak "
			"entries|objects|64|240|712|2112 MEBIBYTES, [-m] churn SECONDS, "
			"small caches|classes, "
			"or aging pool|holes|snapshot|phases|silence\n");
	exit(EXIT_USAGE);
}

static unsigned number(const char *text, unsigned high)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n < 1 || n > high)
		usage();
	return (unsigned)n;
}

static bool known(const char *what)
{
	static const char *const all[] = {"entries", "objects", "64", "240", "712", "2112"};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(what, all[i]) == 0)
			return true;
	return false;
}

static bool small(const char *what)
{
	return strcmp(what, "caches") == 0 || strcmp(what, "classes") == 0;
}

int main(int argc, char **argv)
{
	bool movable = argc > 1 && strcmp(argv[1], "-m") == 0;

	argc -= movable;
	argv += movable;
	if (argc == 4 && strcmp(argv[1], "peak") == 0 && known(argv[2])) {
		size_t bytes = (size_t)number(argv[3], MAX_MIB) << 20;

		if (!contestant_begin(movable ? &record_movers : NULL))
			return EXIT_FAILURE;
		bench_say("# %s", contestant_allocator());
		peak_run(argv[2], bytes);
	} else if (argc == 3 && strcmp(argv[1], "churn") == 0) {
		unsigned seconds = number(argv[2], MAX_SECONDS);

		if (!contestant_begin(movable ? &record_movers : NULL))
			return EXIT_FAILURE;
		bench_say("# %s", contestant_allocator());
		churn_run(seconds);
	} else if (argc == 3 && !movable && strcmp(argv[1], "small") == 0 && small(argv[2])) {
		small_run(argv[2]); /* the contestant begins with the first object */
	} else if (argc != 3 || movable || strcmp(argv[1], "aging") != 0 || !aging_run(argv[2])) {
		usage();
	}
	return EXIT_SUCCESS;
}
