/* SPDX-License-Identifier: MIT */
/* ldapd: start, signals, stop. */
#include "config.h"
#include "ops/operation.h"
#include "ops/server.h"

#include "base/clock.h"

#include <slab/malloc.h>
#include <slab/memory.h>

#include <signal.h>
#include <urcu/urcu-memb.h>

#define LISTEN_DEFAULT "ldap://127.0.0.1:3389"
#define STOP_POLL_NS 5000000
#define SECOND_NS UINT64_C(1000000000)

/* Where memory comes from is chosen when the program is built: libslab, or malloc(). */
#ifdef LDAPD_ON_MALLOC
#include "malloc_side.h"

#define MEMORY_NAME "malloc"
/* No thread looks for an operation after its last reference has gone. */
const char malloc_side_freed_at_once[] = "ldapd.operation";
#else
#define MEMORY_NAME "libslab"
#endif

/* The configuration is large, and lives as long as the process. */
static struct config config;
static struct server server;

/* --- start ------------------------------------------------------------------------------------ */

static struct backend *open_backend(void)
{
	static const char *indexes[STORE_INDEXES_MAX + 1];
	struct backend_config backend = {
		.db = config.db[0] ? config.db : NULL,
		.fsync = config.fsync,
		.cache_bytes = config.cache_bytes,
		.map_limit = config.map_limit,
		.suffix = config.suffix[0] ? config.suffix : NULL,
		.indexes = config.index_count ? indexes : NULL,
	};
	struct backend *opened;
	char error[512];

	for (unsigned i = 0; i < config.index_count; i++)
		indexes[i] = config.index[i];
	opened = backend_open(&backend, error, sizeof(error));
	if (!opened)
		log_error("%s", error);
	return opened;
}

static bool stop_is_pending(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGTERM) || sigismember(&pending, SIGINT);
}

static bool continue_load(uint64_t entries, void *arg)
{
	(void)entries;
	(void)arg;
	return !stop_is_pending();
}

static bool load(struct backend *backend)
{
	struct backend_stats stats;
	char error[512];
	uint64_t start = clock_ns();
	long entries;

	if (!config.ldif && !config.packages)
		return true;
	backend_stats_read(backend, &stats);
	if (stats.entries) {
		log_notice("the database has %lu entries: nothing is loaded",
			   (unsigned long)stats.entries);
		return true;
	}
	entries = backend_load(backend, config.ldif, continue_load, NULL, error, sizeof(error));
	if (entries < 0) {
		log_error("%s", error);
		return false;
	}
	log_notice("%ld entries loaded in %.2f s", entries, (double)(clock_ns() - start) / 1e9);
	return true;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static unsigned most(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

/* Threads that wait for events: one more than there are processors, so that none is idle while one
 * of these threads is preempted. Half of the threads at least are spare. */
static unsigned pollers(void)
{
	return least(config.processors + 1, (config.threads + 1) / 2);
}

/* Three threads wait on each epoll instance: if one is held up or preempted, the others serve its
 * connections. */
static unsigned listeners(void)
{
	return least(most(pollers() / 3, 1), NET_LISTENERS_MAX);
}

static bool start_net(void)
{
	const char *addresses[NET_ADDRESSES_MAX] = {LISTEN_DEFAULT};
	struct net_config net = {
		.form = config.form,
		.threads = config.threads,
		.listeners = listeners(),
		.pollers = most(pollers(), listeners()),
		.addresses = addresses,
		.address_count = config.listen_count ? config.listen_count : 1,
		.limits = config.settings.net,
		.handler = server_handler(&server),
		.accept_delay_every = config.accept_delay_every,
		.accept_delay_ms = config.accept_delay_ms,
	};
	const char *address;
	char error[512];

	for (unsigned i = 0; i < config.listen_count; i++)
		addresses[i] = config.listen[i];
	server.net = net_start(&net, error, sizeof(error));
	if (!server.net) {
		log_error("%s", error);
		return false;
	}
	for (unsigned i = 0; (address = net_address(server.net, i)); i++)
		log_notice("listening on %s", address);
	return true;
}

/* --- running ---------------------------------------------------------------------------------- */

/* Once a second, and at each signal. Returns when the server has to stop. */
static void run(const sigset_t *signals)
{
	const struct timespec second = {.tv_sec = 1};
	uint64_t next = clock_ns();

	for (;;) {
		int signal_number = sigtimedwait(signals, NULL, &second);

		if (signal_number == SIGTERM || signal_number == SIGINT)
			return;
		if (clock_ns() < next)
			continue;
		next = clock_ns() + SECOND_NS - SECOND_NS / 10;
		net_tick(server.net);
	}
}

/* --- stop ------------------------------------------------------------------------------------- */

static void wait_for_operations(void)
{
	const struct timespec poll = {.tv_nsec = STOP_POLL_NS};
	uint64_t deadline = clock_ns() + config.stop_seconds * SECOND_NS;

	while (atomic_load(&server.in_flight) && clock_ns() < deadline)
		nanosleep(&poll, NULL);
}

static void stop_net(void)
{
	log_notice("stopping");
	net_pause(server.net);
	wait_for_operations();
	net_stop(server.net);
}

static int serve(struct backend *backend, const sigset_t *signals)
{
	int status = 1;

	if (server_start(&server, backend, &config.settings)) {
		log_error("no memory to start");
		return 1;
	}
	log_notice("memory: " MEMORY_NAME);
	if (load(backend) && start_net()) {
		run(signals);
		stop_net();
		status = 0;
	} else if (stop_is_pending()) {
		status = 0;
	}
	request_thread_end();
	response_thread_end();
	if (server_stop(&server)) {
		log_error("operations are still in use at the end");
		status = 1;
	}
	return status;
}

static int run_backend(const sigset_t *signals)
{
	struct backend *backend;
	int status = 1;

	backend = open_backend();
	if (backend)
		status = serve(backend, signals);
	if (backend_close(backend)) {
		log_error("entries or filters are still in use at the end");
		status = 1;
	}
	return status;
}

/* With stderr closed, the database would get its descriptor, and the log's lines. */
static bool open_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int main(int argc, char **argv)
{
	sigset_t signals;
	int status;

	if (!open_standard_descriptors())
		return 1;
	status = config_parse(&config, argc, argv);
	if (status >= 0)
		return status;
	log_level_set(config.log_level);
	if (config.memory_limit && slab_set_limit(config.memory_limit))
		log_warning("memoryLimit has no effect: this program's memory is " MEMORY_NAME);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* A file that may not grow is an error of one write. */
	signal(SIGXFSZ, SIG_IGN);
	urcu_memb_register_thread();
	status = run_backend(&signals);
	urcu_memb_unregister_thread();
	return status;
}
