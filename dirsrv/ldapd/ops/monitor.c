/* SPDX-License-Identifier: MIT */
/* cn=monitor: the server's counters, and the statistics of every slab cache. */
#include "ops/internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <slab/memory.h>
#include <slab/stats.h>

#include <stdio.h>
#include <string.h>

#define SERVER_DN "cn=server," MONITOR_DN
#define DATABASE_DN "cn=database," MONITOR_DN
#define ENTRY_CACHE_DN "cn=entry cache," MONITOR_DN
#define MEMORY_DN "cn=memory," MONITOR_DN
#define CACHES_DN "cn=caches," MONITOR_DN
#define SECOND_NS UINT64_C(1000000000)

/* An entry with its classes and its name. */
static void begin(struct draft *draft, struct operation *operation, const char *dn, const char *cn)
{
	draft_begin(draft, operation, dn);
	draft_text(draft, "objectClass", "top");
	draft_text(draft, "objectClass", "extensibleObject");
	draft_text(draft, "cn", cn);
}

static void send_container(struct operation *operation, const char *dn, const char *cn)
{
	struct draft draft;

	begin(&draft, operation, dn, cn);
	draft_send(&draft);
}

static void send_server(struct operation *operation)
{
	const struct server *server = operation->server;
	struct draft draft;

	begin(&draft, operation, SERVER_DN, "server");
	draft_number(&draft, "uptimeSeconds", (clock_ns() - server->started_ns) / SECOND_NS);
	draft_number(&draft, "connections", net_connections(operation->connection->net));
	draft_number(&draft, "operationsInFlight", atomic_load(&server->in_flight));
	draft_number(&draft, "operations", counter_operations());
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		draft_number(&draft, counter_name((enum counter)i), counter_read((enum counter)i));
	draft_send(&draft);
}

static void send_database(struct operation *operation)
{
	struct backend_stats stats;
	struct draft draft;

	backend_stats_read(operation->server->backend, &stats);
	begin(&draft, operation, DATABASE_DN, "database");
	draft_number(&draft, "entries", stats.entries);
	draft_number(&draft, "mapBytes", stats.map_bytes);
	draft_number(&draft, "mapUsed", stats.map_used);
	draft_number(&draft, "writes", stats.writes);
	draft_number(&draft, "writeFailures", stats.write_failures);
	draft_number(&draft, "searches", stats.searches);
	draft_number(&draft, "candidates", stats.candidates);
	draft_number(&draft, "scans", stats.scans);
	draft_send(&draft);
}

static void send_entry_cache(struct operation *operation)
{
	struct dirsrv_entry_cache *cache = backend_cache(operation->server->backend);
	struct dirsrv_entry_cache_stats stats = {.struct_size = sizeof(stats)};
	struct draft draft;

	if (dirsrv_entry_cache_stats_read(cache, &stats))
		return;
	begin(&draft, operation, ENTRY_CACHE_DN, "entry cache");
	draft_number(&draft, "limit", stats.limit);
	draft_number(&draft, "entries", stats.entries);
	draft_number(&draft, "bytes", stats.bytes);
	draft_number(&draft, "hits", stats.hits);
	draft_number(&draft, "misses", stats.misses);
	draft_number(&draft, "inserts", stats.inserts);
	draft_number(&draft, "returns", stats.returns);
	draft_number(&draft, "removes", stats.removes);
	draft_number(&draft, "evicts", stats.evicts);
	draft_number(&draft, "reclaims", stats.reclaims);
	draft_number(&draft, "moves", stats.moves);
	draft_number(&draft, "pending", stats.pending);
	draft_send(&draft);
}

static void send_memory(struct operation *operation)
{
	struct slab_process_stats stats = {.struct_size = sizeof(stats)};
	struct draft draft;

	if (slab_process_stats(&stats))
		return;
	begin(&draft, operation, MEMORY_DN, "memory");
	draft_text(&draft, "engine", stats.engine);
	draft_number(&draft, "caches", stats.caches);
	draft_number(&draft, "slabBytes", stats.slab_bytes);
	draft_number(&draft, "cachedBytes", stats.cached_bytes);
	draft_number(&draft, "largeBytes", stats.large_bytes);
	draft_number(&draft, "metadataBytes", stats.metadata_bytes);
	draft_number(&draft, "limit", slab_limit());
	draft_send(&draft);
}

static int send_cache(struct slab_cache *cache, void *arg)
{
	struct operation *operation = arg;
	char dn[SLAB_MAX_NAME + sizeof("cn=," CACHES_DN)];
	struct draft draft;
	const char *name;
	uint64_t value;

	snprintf(dn, sizeof(dn), "cn=%s," CACHES_DN, slab_cache_name(cache));
	begin(&draft, operation, dn, slab_cache_name(cache));
	for (unsigned i = 0; (name = slab_stat_name(i)); i++)
		if (slab_stat_read(cache, name, &value) == 0)
			draft_number(&draft, name, value);
	draft_send(&draft);
	return 0;
}

void monitor_each(struct operation *operation)
{
	send_container(operation, MONITOR_DN, "monitor");
	send_server(operation);
	send_database(operation);
	send_entry_cache(operation);
	send_memory(operation);
	send_container(operation, CACHES_DN, "caches");
	slab_for_each_cache(send_cache, operation);
}
