/* SPDX-License-Identifier: MIT */
/* Compare, the operations that change the directory, extended operations. */
#include "ops/internal.h"

#include "base/memory.h"

#include <slab/malloc.h>

/* Returns false if the operation has been refused. A change waits for others, and for the disk. */
static bool may_write(struct operation *operation)
{
	if (access_write(operation)) {
		net_lengthy();
		return true;
	}
	access_refuse(operation);
	return false;
}

static void answer(struct operation *operation, const struct backend_result *result)
{
	if (result->code == LDAP_NO_SUCH_OBJECT && virtual_entry(operation))
		operation_result(operation, LDAP_UNWILLING_TO_PERFORM,
				 "the root DSE and cn=monitor can only be searched");
	else
		operation_answer_result(operation, result);
}

void compare_run(struct operation *operation)
{
	const struct compare_request *compare = &operation->request->compare;
	struct backend_result result;

	if (!access_read(operation)) {
		access_refuse(operation);
		return;
	}
	if (access_is_password(compare->type)) {
		operation_result(operation, LDAP_INSUFFICIENT_ACCESS, NULL);
		return;
	}
	backend_compare(operation->server->backend, compare->dn, compare->type, compare->value,
			&result);
	answer(operation, &result);
}

void add_run(struct operation *operation)
{
	const struct add_request *add = &operation->request->add;
	struct backend_result result;

	if (!may_write(operation))
		return;
	backend_add(operation->server->backend, operation_actor(operation), add->dn, add->pairs,
		    add->count, &result);
	answer(operation, &result);
}

void delete_run(struct operation *operation)
{
	struct backend_result result;

	if (!may_write(operation))
		return;
	backend_delete(operation->server->backend, operation_actor(operation),
		       operation->request->delete_dn, &result);
	answer(operation, &result);
}

void modify_run(struct operation *operation)
{
	const struct modify_request *modify = &operation->request->modify;
	struct backend_modification *modifications;
	struct backend_result result;

	if (!may_write(operation))
		return;
	modifications = slab_calloc(modify->count + 1, sizeof(*modifications));
	if (!modifications) {
		operation_result(operation, LDAP_BUSY, "the server has no memory");
		return;
	}
	for (size_t i = 0; i < modify->count; i++)
		modifications[i] = (struct backend_modification){
			.change = (enum backend_change)modify->items[i].operation,
			.type = modify->items[i].type,
			.values = modify->items[i].values,
			.count = modify->items[i].count,
		};
	backend_modify(operation->server->backend, operation_actor(operation), modify->dn,
		       modifications, modify->count, &result);
	slab_mfree(modifications);
	answer(operation, &result);
}

/* --- extended operations -------------------------------------------------------------------- */

/* RFC 4532: the authorization identity; nothing for anonymous. */
static void whoami(struct operation *operation)
{
	struct response response = {.code = LDAP_SUCCESS, .value.data = ""};
	struct buffer value = {0};

	if (operation->identity) {
		buffer_text(&value, "dn:");
		buffer_append(&value, operation->identity->dn, operation->identity->length);
		response.value = (struct dirsrv_bytes){.data = value.data, .length = value.length};
	}
	if (value.failed)
		operation_result(operation, LDAP_BUSY, "the server has no memory");
	else
		operation_answer(operation, &response);
	buffer_free(&value);
}

void extended_run(struct operation *operation)
{
	const struct extended_request *extended = &operation->request->extended;

	if (request_bytes_equal(extended->name, LDAP_EXOP_WHO_AM_I))
		whoami(operation);
	else if (request_bytes_equal(extended->name, LDAP_EXOP_START_TLS))
		/* RFC 4511, 4.14.2: the result of a server that does not support TLS. */
		operation_result(operation, LDAP_PROTOCOL_ERROR,
				 "TLS is not supported; connect on loopback or ldapi");
	else
		operation_result(operation, LDAP_PROTOCOL_ERROR,
				 "the extended operation is not supported");
}
