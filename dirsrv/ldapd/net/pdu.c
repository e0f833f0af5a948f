/* SPDX-License-Identifier: MIT */
/* Memory of messages. */
#include "net/internal.h"

#include <slab/malloc.h>

#include <string.h>

struct pdu *pdu_new(size_t length)
{
	struct pdu *pdu = slab_malloc(sizeof(*pdu) + length + 1);

	if (pdu)
		pdu->length = length;
	return pdu;
}

void pdu_free(struct pdu *pdu)
{
	if (pdu)
		explicit_bzero(pdu->data, pdu->length);
	slab_mfree(pdu);
}
