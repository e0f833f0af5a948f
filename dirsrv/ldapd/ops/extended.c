/* SPDX-License-Identifier: MIT */
/* Extended operations. */
#include "ops/internal.h"

#include "base/memory.h"

#include <ldap.h>

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
