/* SPDX-License-Identifier: MIT */
/* Making entries for the answer to a search. */
#include "ops/internal.h"

#include "base/log.h"
#include "base/memory.h"

#include <slab/malloc.h>

#include <ldap.h>
#include <stdio.h>
#include <string.h>

void draft_begin(struct draft *draft, struct operation *operation, const char *dn)
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

void draft_add(struct draft *draft, const char *type, const void *value, size_t length)
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

void draft_text(struct draft *draft, const char *type, const char *value)
{
	draft_add(draft, type, value, strlen(value));
}

void draft_number(struct draft *draft, const char *type, uint64_t value)
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
	progress->size_exceeded = limit && progress->page_sent == limit;
	if (progress->size_exceeded)
		return;
	bytes = select_entry(operation, entry, root_dse ? "" : draft->dn);
	progress->failed |= !bytes.data;
	if (!bytes.data)
		return;
	connection_send(operation->connection, bytes.data, bytes.length, true);
	progress->page_sent++;
	counter_add(COUNTER_ENTRIES, 1);
}

void draft_send(struct draft *draft)
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
