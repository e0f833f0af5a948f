/* SPDX-License-Identifier: MIT */
/* The root DSE, and which searches are about the server's own entries. */
#include "ops/internal.h"

#include "base/memory.h"
#include "schema/schema.h"

#include <slab/slab.h>

#include <ldap.h>
#include <string.h>
#include <strings.h>

#define FEATURE_OPERATIONAL "1.3.6.1.4.1.4203.1.5.1" /* RFC 3673: "+" */
#define FEATURE_TRUE_FALSE "1.3.6.1.4.1.4203.1.5.3"  /* RFC 4526: (&) and (|) */

static void add_all(struct draft *draft, const char *type, const char *const *values)
{
	for (; *values; values++)
		draft_text(draft, type, *values);
}

static void send_root_dse(struct operation *operation)
{
	static const char *const controls[] = {LDAP_CONTROL_PAGEDRESULTS, LDAP_CONTROL_MANAGEDSAIT,
					       NULL};
	static const char *const extensions[] = {LDAP_EXOP_WHO_AM_I, NULL};
	static const char *const features[] = {FEATURE_OPERATIONAL, FEATURE_TRUE_FALSE, NULL};
	struct draft draft;
	const char *suffix = backend_suffix(operation->server->backend);

	draft_begin(&draft, operation, ROOT_DSE_DN);
	draft_text(&draft, "objectClass", "top");
	if (suffix)
		draft_text(&draft, "namingContexts", suffix);
	draft_text(&draft, "supportedLDAPVersion", "3");
	add_all(&draft, "supportedControl", controls);
	add_all(&draft, "supportedExtension", extensions);
	add_all(&draft, "supportedFeatures", features);
	if (operation->connection->local)
		draft_text(&draft, "supportedSASLMechanisms", "EXTERNAL");
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
	response.paged = operation->request->controls.present & CONTROL_PAGED;
	operation_answer(operation, &response);
	return true;
}
