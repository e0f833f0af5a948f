/* SPDX-License-Identifier: MIT */
/* Access control: who may read, who may write, and what is never seen. */
#include "ops/internal.h"

#include "base/bytes.h"
#include "schema/schema.h"

#include <ldap.h>
#include <string.h>

#define PASSWORD_TYPE "userPassword"

bool dn_same(const struct operation *operation, struct dirsrv_bytes a, const char *b)
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
	const struct identity *identity = operation->identity;

	return identity && (identity->root || operation->settings->write_access == WRITE_BOUND);
}

bool access_write_password(const struct operation *operation, struct dirsrv_bytes dn)
{
	const struct identity *identity = operation->identity;

	return identity && (identity->root || dn_same(operation, dn, identity->dn));
}

bool access_is_password(struct dirsrv_bytes type)
{
	struct dirsrv_bytes base, options;
	bool valid;

	schema_split(type, &base, &options, &valid);
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
