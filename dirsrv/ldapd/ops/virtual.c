/* SPDX-License-Identifier: MIT */
/* Entries that the server makes up: the root DSE, cn=monitor. */
#include "ops/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "schema/schema.h"

#include <slab/malloc.h>
#include <slab/memory.h>
#include <slab/slab.h>
#include <slab/stats.h>

/* --- making entries for the answer to a search ---------------------------------------------- */

/* dirsrv has no entry without a DN: the root DSE is made under this one, and sent without. */
#define ROOT_DSE_DN "cn=root DSE"
#define MONITOR_DN "cn=monitor"

/* An entry while it is made. */
struct draft {
	struct operation *operation;
	char dn[256];
	struct dirsrv_pair *pairs;
	size_t count, capacity;
	bool failed;
};

static void draft_begin(struct draft *draft, struct operation *operation, const char *dn)
{
	*draft = (struct draft){.operation = operation};
	snprintf(draft->dn, sizeof(draft->dn), "%s", dn);
}

/* Names of libslab's numbers have '_', which types of LDAP cannot have (RFC 4512, 1.4). */
static void copy_type(char *to, const char *type, size_t length)
{
	for (size_t i = 0; i < length; i++)
		to[i] = type[i] == '_' ? '-' : type[i];
}

static void draft_add(struct draft *draft, const char *type, const void *value, size_t length)
{
	size_t type_length = strlen(type);
	char *copy = slab_malloc(type_length + length);
	struct dirsrv_pair *pairs =
		array_grow(draft->pairs, &draft->capacity, draft->count + 1, sizeof(*pairs));

	draft->pairs = pairs ? pairs : draft->pairs;
	if (!copy || !pairs) {
		slab_mfree(copy);
		draft->failed = true;
		return;
	}
	copy_type(copy, type, type_length);
	memcpy(copy + type_length, value, length);
	draft->pairs[draft->count++] = (struct dirsrv_pair){
		.type = {.data = copy, .length = type_length},
		.value = {.data = copy + type_length, .length = length},
	};
}

static void draft_text(struct draft *draft, const char *type, const char *value)
{
	draft_add(draft, type, value, strlen(value));
}

static void draft_number(struct draft *draft, const char *type, uint64_t value)
{
	char text[24];

	draft_add(draft, type, text,
		  (size_t)snprintf(text, sizeof(text), "%lu", (unsigned long)value));
}

/* Whether a DN of the server's own entries is in the scope: they have no escapes, so their
 * normal forms can be compared from the end. */
static bool in_scope(const struct search_request *search, const struct dirsrv_dn *base,
		     const struct dirsrv_dn *dn)
{
	size_t base_length, length;
	const char *base_text = dirsrv_dn_normalized(base, &base_length);
	const char *text = dirsrv_dn_normalized(dn, &length);
	unsigned below;

	if (length < base_length || strcmp(text + length - base_length, base_text) != 0)
		return false;
	below = dirsrv_dn_rdns(dn) - dirsrv_dn_rdns(base);
	switch (search->scope) {
	case LDAP_SCOPE_BASE:
		return !below;
	case LDAP_SCOPE_ONELEVEL:
		return below == 1;
	case LDAP_SCOPE_SUBTREE:
		return true;
	default:
		return below > 0;
	}
}

static bool base_is_around(const struct draft *draft, struct dirsrv_entry *entry)
{
	struct operation *operation = draft->operation;
	const struct search_request *search = &operation->request->search;
	struct dirsrv_entry_pool *pool = backend_pool(operation->server->backend);
	struct dirsrv_dn *base = dirsrv_dn_make(pool, search->base.data, search->base.length);
	bool around = base && in_scope(search, base, dirsrv_entry_dn(entry));

	operation->search.failed |= !base;
	operation->search.base_exists |= base && dirsrv_dn_equal(base, dirsrv_entry_dn(entry));
	dirsrv_dn_free(pool, base);
	return around;
}

static void send_if_wanted(struct draft *draft, struct dirsrv_entry *entry)
{
	struct operation *operation = draft->operation;
	const struct search_request *search = &operation->request->search;
	struct search_progress *progress = &operation->search;
	bool root_dse = strcmp(draft->dn, ROOT_DSE_DN) == 0;
	unsigned long limit = select_limit(operation);
	struct dirsrv_bytes bytes;

	progress->base_exists |= root_dse;
	if (!root_dse && !base_is_around(draft, entry))
		return;
	if (filter_matches(search->filter, entry) != FILTER_TRUE)
		return;
	progress->size_exceeded = limit && progress->sent == limit;
	if (progress->size_exceeded)
		return;
	bytes = select_entry(operation, entry, root_dse ? "" : draft->dn);
	progress->failed |= !bytes.data;
	if (!bytes.data)
		return;
	connection_send(operation->connection, bytes.data, bytes.length, true);
	progress->sent++;
	counter_add(COUNTER_ENTRIES, 1);
}

/* Send the entry if it is in the scope of the search and matches its filter, note in the
 * operation's progress whether it is the base, and free the draft. */
static void draft_send(struct draft *draft)
{
	struct dirsrv_entry_pool *pool = backend_pool(draft->operation->server->backend);
	struct dirsrv_entry *entry = NULL;

	if (!draft->failed)
		entry = dirsrv_entry_make(pool, draft->dn, strlen(draft->dn), draft->pairs,
					  draft->count);
	if (entry)
		send_if_wanted(draft, entry);
	else
		draft->operation->search.failed = true;
	dirsrv_entry_put(entry);
	for (size_t i = 0; i < draft->count; i++)
		slab_mfree((void *)(uintptr_t)draft->pairs[i].type.data);
	slab_mfree(draft->pairs);
}

/* --- cn=monitor: the server's counters, the statistics of every slab cache ------------------ */

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

/* Send the entries of cn=monitor that a search asks for. */
static void monitor_each(struct operation *operation)
{
	send_container(operation, MONITOR_DN, "monitor");
	send_server(operation);
	send_database(operation);
	send_entry_cache(operation);
	send_memory(operation);
	send_container(operation, CACHES_DN, "caches");
	slab_for_each_cache(send_cache, operation);
}

/* --- the root DSE, and which searches are about the server's own entries -------------------- */

#define FEATURE_OPERATIONAL "1.3.6.1.4.1.4203.1.5.1" /* RFC 3673: "+" */
#define FEATURE_TRUE_FALSE "1.3.6.1.4.1.4203.1.5.3" /* RFC 4526: (&) and (|) */

static void send_root_dse(struct operation *operation)
{
	struct draft draft;
	const char *suffix = backend_suffix(operation->server->backend);

	draft_begin(&draft, operation, ROOT_DSE_DN);
	draft_text(&draft, "objectClass", "top");
	if (suffix)
		draft_text(&draft, "namingContexts", suffix);
	draft_text(&draft, "supportedLDAPVersion", "3");
	draft_text(&draft, "supportedControl", LDAP_CONTROL_MANAGEDSAIT);
	draft_text(&draft, "supportedExtension", LDAP_EXOP_WHO_AM_I);
	draft_text(&draft, "supportedFeatures", FEATURE_OPERATIONAL);
	draft_text(&draft, "supportedFeatures", FEATURE_TRUE_FALSE);
	draft_text(&draft, "monitorContext", MONITOR_DN);
	draft_text(&draft, "vendorName", "libslab");
	draft_text(&draft, "vendorVersion", slab_version());
	draft_send(&draft);
}

/* Whether a request's DN is another one, or below it. */
static bool dn_below(struct operation *operation, const char *dn)
{
	struct dirsrv_entry_pool *pool = backend_pool(operation->server->backend);
	struct dirsrv_bytes base = request_dn(operation->request);
	struct dirsrv_dn *parsed = dirsrv_dn_make(pool, base.data, base.length);
	size_t length = 0, suffix = strlen(dn);
	const char *text = parsed ? dirsrv_dn_normalized(parsed, &length) : "";
	bool below = length >= suffix && strcasecmp(text + length - suffix, dn) == 0 &&
		     (length == suffix || text[length - suffix - 1] == ',');

	dirsrv_dn_free(pool, parsed);
	return below;
}

/* Which function sends the entries around the base; NULL: the base is in the directory. */
static void (*sender(struct operation *operation))(struct operation *)
{
	const struct search_request *search = &operation->request->search;

	if (!search->base.length)
		return search->scope == LDAP_SCOPE_BASE ? send_root_dse : NULL;
	return dn_below(operation, MONITOR_DN) ? monitor_each : NULL;
}

bool virtual_entry(struct operation *operation)
{
	return !request_dn(operation->request).length || dn_below(operation, MONITOR_DN);
}

bool virtual_search(struct operation *operation)
{
	void (*send)(struct operation *) = sender(operation);
	struct response response = {.code = LDAP_SUCCESS};

	if (!send)
		return false;
	if (send == monitor_each && !access_read(operation)) {
		access_refuse(operation);
		return true;
	}
	access_hide(operation->request->search.filter);
	if (filter_prepare(operation->request->search.filter)) {
		operation_result(operation, LDAP_BUSY, "the server has no memory");
		return true;
	}
	send(operation);
	if (operation->search.failed) {
		response.code = LDAP_BUSY;
		response.message = "the server has no memory";
	} else if (!operation->search.base_exists) {
		response.code = LDAP_NO_SUCH_OBJECT;
		response.matched = send == monitor_each ? MONITOR_DN : "";
	} else if (operation->search.size_exceeded) {
		response.code = LDAP_SIZELIMIT_EXCEEDED;
	}
	operation_answer(operation, &response);
	return true;
}
