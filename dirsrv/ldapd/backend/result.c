/* SPDX-License-Identifier: MIT */
/* Results of operations. */
#include <errno.h>
#include <ldap.h>
#include <lmdb.h>
#include <stdarg.h>
#include <string.h>

#include "backend/internal.h"
#include "schema/dn.h"

void result_set(struct backend_result *result, int code, const char *format, ...)
{
	va_list args;

	result->code = code;
	result->fault = false;
	result->matched[0] = '\0';
	va_start(args, format);
	vsnprintf(result->message, sizeof(result->message), format, args);
	va_end(args);
}

void result_store(struct backend_result *result, int error)
{
	switch (error) {
	case 0:
		result_set(result, LDAP_SUCCESS, "%s", "");
		break;
	case STORE_UNDO:
		break;
	case MDB_MAP_FULL:
		result_set(result, LDAP_UNWILLING_TO_PERFORM,
			   "the database is full: its map has reached the configured limit");
		break;
	case ENOMEM:
		result_set(result, LDAP_BUSY, "the server has no memory");
		break;
	default:
		result_set(result, LDAP_OTHER, "database: %s", store_strerror(error));
	}
	result->fault = error && error != STORE_UNDO && error != ENOMEM;
}

void result_no_such_object(struct store_txn *txn, struct dirsrv_bytes normal,
			   struct backend_result *result)
{
	struct row row;
	uint64_t id;

	result_set(result, LDAP_NO_SUCH_OBJECT, "%s", "");
	do {
		normal = dn_normal_parent(normal);
		if (!normal.length)
			return;
	} while (store_find(txn, normal, &id));
	if (store_get(txn, id, &row) || row.dn.length >= sizeof(result->matched))
		return;
	memcpy(result->matched, row.dn.data, row.dn.length);
	result->matched[row.dn.length] = '\0';
}
