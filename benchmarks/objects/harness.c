/* SPDX-License-Identifier: MIT */
/*
 * The program around the cases: options, and a fresh process for every case.
 *
 *   objects-slab [--cases LIST] [--sizes LIST] [--ms N] [--laps N] [--trace FILE] [--list]
 *
 * Every case runs in a forked child, so that it finds the allocator as a fresh
 * process does and leaves nothing behind for the next one. Rows go to stdout as
 * CSV, the allocator's name before them as a comment.
 */
#include <getopt.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "bench.h"

#define MAX_SIZES 64
#define MIN_OBJECT sizeof(uintptr_t)
#define MAX_OBJECT 32768u
#define MAX_MS 10000ul
#define MAX_LAPS_OPTION 1000000ul
#define COLD_PROCESSES 3 /* a cold case has one sample per process */
#define EXIT_USAGE 2
#define NO_SIZE 0 /* of the cases of the trace */

static size_t sizes[MAX_SIZES] = {16, 32, 64, 128, 240, 256, 512, 712, 1024, 2112, 4096, 8192};
static unsigned size_count = 12;
static char output[65536];

static bool is_traced(const struct bench_case *c)
{
	return c->threads == BENCH_OF_TRACE;
}

static bool case_fits(const struct bench_case *c, size_t size)
{
	if (is_traced(c))
		return size == NO_SIZE && bench_trace && bench_contestant.open_trace;
	return size != NO_SIZE && !bench_contestant.only_trace;
}

static bool case_selected(const struct bench_case *c, size_t size)
{
	for (const char *const *row = c->rows; *row; row++)
		if (bench_row_selected(*row))
			return case_fits(c, size);
	return false;
}

static unsigned case_threads(const struct bench_case *c)
{
	if (is_traced(c))
		return bench_trace->threads;
	return c->threads == BENCH_ALL_CPUS ? bench_cpus() : c->threads;
}

/* Pointers for all threads, resident before anything is measured. */
static void **map_slots(size_t n)
{
	void *slots = mmap(NULL, n * sizeof(void *), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (slots == MAP_FAILED)
		bench_fail("no memory for %zu pointers", n);
	return slots;
}

static void run_case(const struct bench_case *c, size_t size)
{
	static struct team team;
	size_t live = is_traced(c) ? bench_trace->slots : (size_t)case_threads(c) * c->slots;
	const char *why;

	memset(&team, 0, sizeof(team));
	team.c = c;
	team.contestant = &bench_contestant;
	team.size = size;
	team.threads = case_threads(c);
	team.slots = map_slots(live);
	if (team.threads <= bench_cpus())
		bench_pin(bench_cpu(0));
	else
		bench_unpin();
	team.rss_base = bench_resident();
	why = is_traced(c) ? bench_contestant.open_trace(bench_trace) : bench_contestant.open(size);
	if (why)
		bench_fail("%s", why);
	if (team.threads > bench_cpus())
		bench_unpin();
	team_run(&team);
	munmap(team.slots, live * sizeof(void *));
	fflush(stdout);
}

/* Run a case of one size in a child. 0, or 1 if that failed. */
static int in_child(const struct bench_case *c, size_t size)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* do not outlive an interrupted run */
		run_case(c, size);
		exit(EXIT_SUCCESS);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		bench_fail("cannot run a process: %s", strerror(errno));
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE)
		exit(EXIT_FAILURE); /* the reader of the rows closed the pipe */
	if (WIFSIGNALED(status))
		fprintf(stderr, "%s: case %s with %zu bytes died of signal %d\n",
			bench_contestant.name, c->rows[0], size, WTERMSIG(status));
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static int run_size(size_t size)
{
	int failed = 0;

	for (const struct bench_case *c = bench_cases; c->body; c++)
		for (int i = 0; case_selected(c, size) && i < (c->cold ? COLD_PROCESSES : 1); i++)
			failed |= in_child(c, size);
	return failed;
}

static void list_rows(void)
{
	for (const struct bench_case *c = bench_cases; c->body; c++)
		for (const char *const *row = c->rows; *row; row++)
			puts(*row);
}

static _Noreturn void usage_error(const char *format, const char *value)
{
	fprintf(stderr, "%s: ", bench_contestant.name);
	fprintf(stderr, format, value);
	fputc('\n', stderr);
	exit(EXIT_USAGE);
}

static unsigned long parse_number(const char *text, unsigned long min, unsigned long max,
				  const char *error)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || n < min || n > max)
		usage_error(error, text);
	return n;
}

static void parse_sizes(char *list)
{
	size_count = 0;
	for (char *word; (word = strsep(&list, ","));) {
		if (size_count == MAX_SIZES)
			usage_error("--sizes takes at most 64 sizes%s", "");
		sizes[size_count++] = parse_number(word, MIN_OBJECT, MAX_OBJECT,
						   "--sizes wants sizes of 8 to 32768 bytes "
						   "separated by commas, not '%s'");
	}
}

static bool is_row(const char *word, size_t length)
{
	for (const struct bench_case *c = bench_cases; c->body; c++)
		for (const char *const *row = c->rows; *row; row++)
			if (strlen(*row) == length && memcmp(*row, word, length) == 0)
				return true;
	return false;
}

static void parse_cases(const char *list)
{
	for (const char *word = list; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL)
		if (!is_row(word, strcspn(word, ",")))
			usage_error("--cases wants names that --list shows, separated by commas, "
				    "not '%s'",
				    list);
	bench_options.cases = list;
}

static void open_trace(const char *path)
{
	static struct trace trace;
	const char *why = trace_open(&trace, path);

	if (why)
		bench_fail("%s: %s", path, why);
	bench_trace = &trace;
}

static void parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{"cases", required_argument, NULL, 'c'},
		{"sizes", required_argument, NULL, 's'},
		{"ms", required_argument, NULL, 'm'},
		{"laps", required_argument, NULL, 'l'},
		{"trace", required_argument, NULL, 't'},
		{"list", no_argument, NULL, 'L'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			parse_cases(optarg);
		else if (option == 's')
			parse_sizes(optarg);
		else if (option == 'm')
			bench_options.ms = (unsigned)parse_number(
				optarg, 1, MAX_MS, "--ms wants 1 to 10000 milliseconds, not '%s'");
		else if (option == 'l')
			bench_options.laps = (unsigned)parse_number(
				optarg, 1, MAX_LAPS_OPTION, "--laps wants 1 to 1000000, not '%s'");
		else if (option == 't')
			open_trace(optarg);
		else if (option == 'L') {
			list_rows();
			exit(EXIT_SUCCESS);
		} else
			exit(EXIT_USAGE);
	}
	if (optind < argc)
		usage_error("unexpected argument '%s'", argv[optind]);
	for (const struct bench_case *c = bench_cases; bench_options.cases && c->body; c++)
		if (is_traced(c) && !bench_trace && bench_row_selected(c->rows[0]))
			usage_error("the case '%s' needs --trace FILE; ./run bench objects "
				    "records one",
				    c->rows[0]);
}

int main(int argc, char **argv)
{
	int failed = 0;

	setvbuf(stdout, output, _IOFBF, sizeof(output));
	parse_options(argc, argv);
	bench_pin(bench_cpu(0));
	bench_calibrate();
	printf("# %s\n", bench_contestant.allocator());
	fflush(stdout);
	for (unsigned i = 0; i < size_count; i++)
		failed |= run_size(sizes[i]);
	failed |= run_size(NO_SIZE);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
