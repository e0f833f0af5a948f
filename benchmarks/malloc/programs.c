/* SPDX-License-Identifier: MIT */
/*
 * Programs of the system with the contestant as their malloc: the library in BENCH_PRELOAD. This
 * program itself does without it, so that the kernel's figures of a child are the child's.
 */
#include <spawn.h>
#include <sys/wait.h>

#include "bench.h"

#define STARTS 40u
#define RUNS 3u
#define VARIABLES 512

static char preload[4096] = "LD_PRELOAD=";
static char *environment[VARIABLES + 2];

static void prepare(void)
{
	const char *library = getenv("BENCH_PRELOAD");
	size_t n = 0;

	for (char **variable = environ; *variable && n < VARIABLES; variable++)
		if (strncmp(*variable, "LD_PRELOAD=", 11) != 0)
			environment[n++] = *variable;
	if (library && *library) {
		strncat(preload, library, sizeof(preload) - strlen(preload) - 1);
		environment[n++] = preload;
	}
}

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static pid_t start(char **command)
{
	posix_spawn_file_actions_t actions;
	pid_t child;
	int error;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	error = posix_spawnp(&child, command[0], &actions, NULL, command, environment);
	posix_spawn_file_actions_destroy(&actions);
	if (error)
		bench_fail("%s: %s", command[0], strerror(error));
	return child;
}

/* Means over `work` processes; the largest peak. */
static void repeat(char **command, size_t work)
{
	unsigned n = work > 1 ? (unsigned)work : 1;
	double user = 0, system = 0;
	long faults = 0, peak = 0;
	const uint64_t from = bench_ns(CLOCK_MONOTONIC);

	for (unsigned i = 0; i < n; i++) {
		struct rusage usage;
		int status;

		if (wait4(start(command), &status, 0, &usage) < 0 || status != 0)
			bench_fail("%s ended with status %d", command[0], status);
		user += seconds(usage.ru_utime);
		system += seconds(usage.ru_stime);
		faults += usage.ru_minflt + usage.ru_majflt;
		peak = usage.ru_maxrss > peak ? usage.ru_maxrss : peak;
	}
	bench_say("time %.9f", (double)(bench_ns(CLOCK_MONOTONIC) - from) / 1e9 / n);
	bench_say("user %.6f", user / n);
	bench_say("system %.6f", system / n);
	bench_say("faults %ld", faults / n);
	bench_say("peak %ld", peak * 1024);
}

static void bash(void)
{
	static char *command[] = {"bash", "-c", ":", NULL};

	repeat(command, bench_work(STARTS));
}

static void python(void)
{
	static char script[] =
		"import json\n"
		"text = json.dumps([{'id': i, 'name': 'entry %d' % i, 'values': list(range(i % 9)),\n"
		"                    'mail': 'user%d@example.com' % i} for i in range(8000)])\n"
		"for i in range(4):\n"
		"    text = json.dumps(json.loads(text))\n";
	static char *command[] = {"python3", "-S", "-c", script, NULL};

	repeat(command, bench_work(RUNS));
}

static void perl(void)
{
	static char script[] =
		"my %h; for my $i (1 .. 150000) { my $k = 'uid=user' . ($i * 7919 % 40000);\n"
		"$h{$k} .= join(',', map { $_ * $i } 1 .. ($i % 5));\n"
		"delete $h{'uid=user' . ($i % 40000)} if $i % 3 == 0; }\n"
		"print join(' ', sort keys %h);\n";
	static char *command[] = {"perl", "-e", script, NULL};

	repeat(command, bench_work(RUNS));
}

const struct bench_case program_cases[] = {
	{"program.bash", prepare, bash, true},
	{"program.python", prepare, python, true},
	{"program.perl", prepare, perl, true},
	{NULL, NULL, NULL, false},
};
