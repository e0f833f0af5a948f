/* SPDX-License-Identifier: MIT */
/*
 * slab-exporter: the slab caches of all processes of a machine as metrics, for
 * Prometheus. One thread serves HTTP (http.c) and runs scrapes (scrape.c), which
 * query each process in a child (job.c), until SIGTERM or SIGINT.
 */
#include "http.h"
#include "job.h"

static volatile sig_atomic_t ends;

static void on_signal(int number)
{
	if (number != SIGCHLD)
		ends = 1;
}

/* Block the signals except while the loop waits; *waiting is the mask for that. */
static void take_signals(sigset_t *waiting)
{
	const struct sigaction action = {.sa_handler = on_signal};
	const int numbers[] = {SIGTERM, SIGINT, SIGCHLD};
	sigset_t blocked;

	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		sigaddset(&blocked, numbers[i]);
		sigaction(numbers[i], &action, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &blocked, waiting);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigdelset(waiting, numbers[i]);
}

/* The shorter of two waiting times; -1 means forever. */
static int shorter(int a, int b)
{
	if (a < 0 || b < 0)
		return a > b ? a : b;
	return a < b ? a : b;
}

static void wait_for_work(const struct http *http, const struct scrape *scrape,
			  const sigset_t *waiting)
{
	struct pollfd fds[1 + SCRAPE_FDS];
	int http_timeout, scrape_timeout, ms;
	struct timespec timeout;
	size_t count = 1;

	fds[0] = (struct pollfd){.fd = http_fd(http, &http_timeout), .events = POLLIN};
	count += scrape_fds(scrape, fds + 1, &scrape_timeout);
	ms = shorter(http_timeout, scrape_timeout);
	timeout = (struct timespec){ms / 1000, ms % 1000 * 1000000L};
	ppoll(fds, count, ms < 0 ? NULL : &timeout, waiting);
}

static void run(struct http *http, struct scrape *scrape, const sigset_t *waiting)
{
	while (!ends) {
		wait_for_work(http, scrape, waiting);
		if (scrape_step(scrape))
			http_answer(http);
		if (!scrape_is_running(scrape))
			job_reap();
		http_step(http);
	}
}

int main(int argc, char **argv)
{
	struct settings settings;
	struct scrape *scrape;
	struct http *http;
	sigset_t waiting;
	int status;

	fail_name("slab-exporter");
	status = settings_parse(&settings, argc, argv);
	if (status >= 0)
		return status;
	scrape = scrape_open(&settings);
	if (!scrape) {
		fail("there is no memory");
		return EXIT_USAGE;
	}
	take_signals(&waiting);
	http = http_open(&settings, scrape);
	if (http) {
		printf("slab-exporter: serving %s\n", http_url(http));
		fflush(stdout);
		run(http, scrape, &waiting);
		http_close(http);
	}
	scrape_close(scrape);
	return http ? EXIT_DONE : EXIT_USAGE;
}
