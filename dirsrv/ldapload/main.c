/* SPDX-License-Identifier: MIT */
/*
 * ldapload: a load generator for LDAP servers.
 *
 * libldap has the codec (liblber), the URIs, DNs and texts of result codes. Connections are
 * sockets of ldapload itself, since libldap connects and binds synchronously, polls for each
 * answer, and has no connection that only waits.
 */
#include "server.h"
#include "args.h"
#include "load.h"
#include "report.h"

#include <signal.h>
#include <sys/resource.h>

#define EXIT_USAGE 2
#define ERROR_BYTES 512
#define MORE_DESCRIPTORS 32

static struct load load;

static void stop_early(int signal)
{
	(void)signal;
	atomic_store_explicit(&load.stop, true, memory_order_relaxed);
}

static void raise_descriptors(const struct args *args)
{
	rlim_t needed = (rlim_t)args->connections + args->idle + args->threads + MORE_DESCRIPTORS;
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < needed)
		load_fail("%u connections need %llu file descriptors, and the system allows %llu",
			  args->connections + args->idle, (unsigned long long)needed,
			  (unsigned long long)limit.rlim_cur);
}

static void prepare(const struct args *args)
{
	struct sigaction action = {.sa_handler = stop_early, .sa_flags = SA_RESETHAND};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	load.args = args;
	load.run_id = (uint64_t)time(NULL) << 22 ^ (uint64_t)getpid();
	atomic_store(&load.budget, args->operations);
}

static void start_workers(struct worker *workers, const struct args *args)
{
	uint64_t now_ns = load_now_ns();
	unsigned first = 0;

	load.measure_ns = now_ns + (uint64_t)(args->warm_up * (double)NS_PER_SECOND);
	load.end_ns = args->operations
			      ? UINT64_MAX
			      : load.measure_ns + (uint64_t)(args->seconds * (double)NS_PER_SECOND);
	for (unsigned i = 0; i < args->threads; i++) {
		unsigned connections = (args->connections - first) / (args->threads - i);

		worker_start(&workers[i], &load, first, connections);
		first += connections;
	}
}

/* ---- the run ---- */

/* The measured time ends at the end of the run, or with its last answer if there is no such time
 * or a signal came before. */
static double measured_seconds(const struct tally *tally)
{
	double none = 1e-9; /* nothing was measured: no division by zero */
	uint64_t end_ns = load.end_ns;

	if (end_ns == UINT64_MAX || atomic_load(&load.stop))
		end_ns = tally->last_ns;
	return end_ns > load.measure_ns ? (double)(end_ns - load.measure_ns) / (double)NS_PER_SECOND
					: none;
}

static int run(const struct args *args)
{
	struct worker *workers = calloc(args->threads, sizeof(*workers));
	static struct tally total;
	struct results results = {.args = args, .tally = &total};
	struct idle idle;

	if (!workers)
		load_fail("there is no memory for %u threads", args->threads);
	raise_descriptors(args);
	prepare(args);
	idle_open(&idle, &load.server, args->idle, args->timeout);
	start_workers(workers, args);
	for (unsigned i = 0; i < args->threads; i++) {
		worker_join(&workers[i]);
		tally_merge(&total, &workers[i].tally);
	}
	results.idle_lost = idle_lost(&idle);
	idle_close(&idle);
	free(workers);
	results.seconds = measured_seconds(&total);
	report_print(stdout, &results);
	return report_unexpected(&results) ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static struct args args;
	char error[ERROR_BYTES];
	int status = args_parse(&args, argc, argv);

	if (status >= 0)
		return status;
	if (args.make_ldif ? ldif_write(stdout, &args, error, sizeof(error))
			   : server_parse(&load.server, args.uri, error, sizeof(error))) {
		fprintf(stderr, "ldapload: %s\n", error);
		return EXIT_USAGE;
	}
	return args.make_ldif ? EXIT_SUCCESS : run(&args);
}
