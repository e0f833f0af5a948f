/* SPDX-License-Identifier: MIT */
/* Who the client is, and what it may: bind, passwords, access. */
#include "ops/internal.h"

#include "base/bytes.h"
#include "base/log.h"
#include "schema/schema.h"

#include <slab/malloc.h>

#include <crypt.h>

/* --- access: who may read, who may write, and what is never seen ---------------------------- */

#define PASSWORD_TYPE "userPassword"

/* Whether two texts are the same DN. */
static bool dn_same(const struct operation *operation, struct dirsrv_bytes a, const char *b)
{
	struct dirsrv_entry_pool *pool = backend_pool(operation->server->backend);
	struct dirsrv_dn *one = dirsrv_dn_make(pool, a.data, a.length);
	struct dirsrv_dn *other = dirsrv_dn_make(pool, b, strlen(b));
	bool same = one && other && dirsrv_dn_equal(one, other);

	dirsrv_dn_free(pool, one);
	dirsrv_dn_free(pool, other);
	return same;
}

bool access_read(const struct operation *operation)
{
	return operation->identity || operation->settings->anonymous_read;
}

bool access_write(const struct operation *operation)
{
	return operation->identity && operation->identity->root;
}

bool access_is_password(struct dirsrv_bytes type)
{
	const char *options = type.length ? memchr(type.data, ';', type.length) : NULL;
	struct dirsrv_bytes base;
	bool valid;

	if (options)
		type.length = (size_t)(options - (const char *)type.data);
	schema_split(type, &base, &valid);
	return request_bytes_equal(base, PASSWORD_TYPE);
}

void access_refuse(struct operation *operation)
{
	if (operation->identity)
		operation_result(operation, LDAP_INSUFFICIENT_ACCESS, NULL);
	else
		operation_result(operation, LDAP_STRONG_AUTH_REQUIRED, "bind first");
}

/* The tree is at most as deep as the decoder allows. */
void access_hide(struct filter *filter)
{
	for (; filter; filter = filter->next) {
		access_hide(filter->children);
		if (filter->type.length && access_is_password(filter->type))
			filter->kind = FILTER_UNDEFINED;
	}
}

/* --- passwords, checked with libcrypt ------------------------------------------------------- */

#define SCHEME_CRYPT "{CRYPT}"
#define PASSWORD_MAX 256

/* The time does not depend on where the texts differ. */
static bool equal(const char *a, const char *b, size_t length)
{
	unsigned char difference = 0;

	for (size_t i = 0; i < length; i++)
		difference |= (unsigned char)(a[i] ^ b[i]);
	return !difference;
}

/* A password as a string, as libcrypt wants it. */
static bool as_string(struct dirsrv_bytes password, char *out, size_t size)
{
	if (password.length >= size || memchr(password.data, '\0', password.length))
		return false;
	memcpy(out, password.data, password.length);
	out[password.length] = '\0';
	return true;
}

/* struct crypt_data has 32 KiB: too much for the stack of a thread. */
static bool crypt_to(const char *password, const char *setting, char *out, size_t size)
{
	struct crypt_data *data;
	const char *hash;
	bool good;

	net_lengthy();
	data = slab_calloc(1, sizeof(*data));
	hash = data ? crypt_r(password, setting, data) : NULL;
	good = hash && hash[0] != '*' && strlen(hash) < size;
	if (good)
		memcpy(out, hash, strlen(hash) + 1);
	/* It has the password and what was computed from it. */
	if (data)
		explicit_bzero(data, sizeof(*data));
	slab_mfree(data);
	return good;
}

static bool crypt_matches(struct dirsrv_bytes stored, struct dirsrv_bytes password)
{
	char text[PASSWORD_MAX], setting[CRYPT_OUTPUT_SIZE], hash[CRYPT_OUTPUT_SIZE];
	bool matches = as_string(password, text, sizeof(text)) &&
		       as_string(stored, setting, sizeof(setting)) &&
		       crypt_to(text, setting, hash, sizeof(hash)) &&
		       strlen(hash) == strlen(setting) && equal(hash, setting, strlen(hash));

	explicit_bzero(text, sizeof(text));
	return matches;
}

static bool is_crypt(struct dirsrv_bytes stored)
{
	size_t scheme = strlen(SCHEME_CRYPT);

	return stored.length >= scheme && strncasecmp(stored.data, SCHEME_CRYPT, scheme) == 0;
}

/* Whether a value has a scheme, such as {SSHA}: its hash is not the password. */
static bool has_scheme(struct dirsrv_bytes stored)
{
	const char *text = stored.data;

	return stored.length && text[0] == '{' && memchr(text, '}', stored.length);
}

/* Whether a password is the one that a stored value stands for: {CRYPT}…, or
 * the password itself. */
static bool password_matches(struct dirsrv_bytes stored, struct dirsrv_bytes password)
{
	const char *text = stored.data;
	size_t scheme = strlen(SCHEME_CRYPT);

	if (is_crypt(stored))
		return crypt_matches((struct dirsrv_bytes){.data = text + scheme,
							   .length = stored.length - scheme},
				     password);
	if (has_scheme(stored))
		return false;
	return stored.length == password.length && equal(text, password.data, stored.length);
}

static const struct dirsrv_value *first_password(const struct dirsrv_entry *entry)
{
	const struct dirsrv_attribute *attribute =
		dirsrv_entry_find(entry, PASSWORD_TYPE, strlen(PASSWORD_TYPE));

	return attribute ? dirsrv_attribute_first(attribute) : NULL;
}

/* Whether it is a password of an entry. */
static bool password_entry_matches(const struct dirsrv_entry *entry, struct dirsrv_bytes password)
{
	const struct dirsrv_value *value;

	for (value = first_password(entry); value; value = dirsrv_value_next(value))
		if (password_matches(dirsrv_value_data(value), password))
			return true;
	return false;
}

bool password_supported(struct dirsrv_bytes stored)
{
	return is_crypt(stored) || !has_scheme(stored);
}

/* Whether an entry has a password of a scheme other than {CRYPT}. */
static bool password_entry_unsupported(const struct dirsrv_entry *entry)
{
	const struct dirsrv_value *value;

	for (value = first_password(entry); value; value = dirsrv_value_next(value))
		if (!password_supported(dirsrv_value_data(value)))
			return true;
	return false;
}

/* --- bind: anonymous and simple -------------------------------------------------------------- */

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

void bind_run(struct operation *operation)
{
	const struct bind_request *bind = &operation->request->bind;

	if (bind->version != LDAP_VERSION3)
		operation_result(operation, LDAP_PROTOCOL_ERROR,
				 "only LDAP version 3 is supported");
	else if (bind->simple)
		bind_simple(operation);
	else
		operation_result(operation, LDAP_AUTH_METHOD_NOT_SUPPORTED, "accepted: simple");
}
