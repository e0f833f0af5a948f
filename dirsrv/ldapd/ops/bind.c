/* SPDX-License-Identifier: MIT */
/* Bind: anonymous, simple, and EXTERNAL for the server's own user on ldapi. */
#include "ops/internal.h"

#include "base/log.h"

#include <ldap.h>
#include <string.h>
#include <unistd.h>

#define MECHANISM "EXTERNAL"

static void bound(struct operation *operation, struct identity *identity)
{
	struct connection *connection = operation->connection;
	struct identity *former = NULL;

	connection_lock(connection);
	/* A later bind abandons this one, and decides who the client is. */
	if (!connection->closing && !dirsrv_operation_abandoned(operation->self)) {
		former = connection->identity;
		connection->identity = identity_get(identity);
	}
	connection_unlock(connection);
	identity_put(former);
	identity_put(identity);
	operation_result(operation, LDAP_SUCCESS, NULL);
}

static void bind_as(struct operation *operation, struct dirsrv_bytes dn, bool root)
{
	struct identity *identity = identity_new(dn.data, dn.length, root);

	if (identity)
		bound(operation, identity);
	else
		operation_result(operation, LDAP_BUSY, "the server has no memory");
}

static bool is_root(const struct operation *operation, struct dirsrv_bytes dn)
{
	const struct settings *settings = operation->settings;

	return settings->root_dn[0] && dn_same(operation, dn, settings->root_dn);
}

static bool root_password_matches(const struct operation *operation)
{
	const char *stored = operation->settings->root_password;

	return stored[0] &&
	       password_matches((struct dirsrv_bytes){.data = stored, .length = strlen(stored)},
				operation->request->bind.credentials);
}

static bool entry_password_matches(const struct operation *operation)
{
	const struct bind_request *bind = &operation->request->bind;
	struct dirsrv_entry *entry =
		backend_get(operation->server->backend, bind->dn.data, bind->dn.length);
	bool matches = entry && password_entry_matches(entry, bind->credentials);

	if (entry && !matches && password_entry_unsupported(entry))
		log_notice("conn=%lu \"%.*s\" has a password of a scheme that is not supported; "
			   "supported: {CRYPT}, and cleartext",
			   (unsigned long)operation->connection->id, (int)bind->dn.length,
			   (const char *)bind->dn.data);
	dirsrv_entry_put(entry);
	return matches;
}

static void bind_simple(struct operation *operation)
{
	const struct bind_request *bind = &operation->request->bind;
	bool root;

	if (!bind->dn.length && !bind->credentials.length) {
		operation_result(operation, LDAP_SUCCESS, NULL);
		return;
	}
	if (!bind->credentials.length) {
		/* RFC 4513, 5.1.2: a client that sends no password by mistake must not believe
		 * that it is bound. */
		operation_result(operation, LDAP_UNWILLING_TO_PERFORM,
				 "a bind with a DN needs a password");
		return;
	}
	root = is_root(operation, bind->dn);
	if (root ? root_password_matches(operation) : entry_password_matches(operation))
		bind_as(operation, bind->dn, root);
	else
		operation_result(operation, LDAP_INVALID_CREDENTIALS, NULL);
}

/* An authorization identity (RFC 4513, 5.2.1.8) that a client asks for must be the one that it
 * gets. */
static bool asks_for_root(const struct operation *operation)
{
	struct dirsrv_bytes id = operation->request->bind.credentials;

	if (!id.length)
		return true;
	if (id.length < 3 || memcmp(id.data, "dn:", 3) != 0)
		return false;
	id.data = (const char *)id.data + 3;
	id.length -= 3;
	return is_root(operation, id);
}

/* The server's own user, who could read and change the database anyway, is the root DN. */
static void bind_external(struct operation *operation)
{
	const struct settings *settings = operation->settings;
	struct dirsrv_bytes dn = {.data = settings->root_dn, .length = strlen(settings->root_dn)};

	if (operation->connection->local && operation->connection->peer == geteuid() && dn.length &&
	    asks_for_root(operation))
		bind_as(operation, dn, true);
	else
		operation_result(operation, LDAP_INVALID_CREDENTIALS, NULL);
}

void bind_run(struct operation *operation)
{
	const struct bind_request *bind = &operation->request->bind;

	if (bind->version != LDAP_VERSION3)
		operation_result(operation, LDAP_PROTOCOL_ERROR,
				 "only LDAP version 3 is supported");
	else if (bind->simple)
		bind_simple(operation);
	else if (request_bytes_equal(bind->mechanism, MECHANISM))
		bind_external(operation);
	else
		operation_result(operation, LDAP_AUTH_METHOD_NOT_SUPPORTED,
				 "accepted: simple, and EXTERNAL on ldapi");
}
