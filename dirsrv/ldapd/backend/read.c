/* SPDX-License-Identifier: MIT */
/* Reading single entries: by DN, computed attributes, compare. */
#include <errno.h>
#include <ldap.h>
#include <string.h>

#include "backend/internal.h"
#include "base/bytes.h"
#include "schema/schema.h"

struct dirsrv_entry *backend_get(struct backend *backend, const char *dn, size_t length)
{
	struct backend_result result;
	struct dirsrv_entry *entry;

	cache_find(backend, (struct dirsrv_bytes){dn, length}, &entry, &result);
	return entry;
}

bool backend_has_children(struct backend *backend, const struct dirsrv_entry *entry)
{
	struct store_txn *txn;
	bool has = false;

	if (store_read_begin(backend->store, &txn))
		return false;
	store_has_children(txn, dirsrv_entry_id(entry), &has);
	store_read_end(txn);
	return has;
}

static const char *const computed[] = {"entryDN", "hasSubordinates"};

#define COMPUTED (sizeof(computed) / sizeof(*computed))

struct dirsrv_bytes backend_computed(struct backend *backend, const struct dirsrv_entry *entry,
				     unsigned i, const char **type)
{
	struct dirsrv_bytes value = {NULL, 0};

	if (i >= COMPUTED)
		return value;
	*type = computed[i];
	switch (i) {
	case 0:
		value.data = dirsrv_dn_text(dirsrv_entry_dn(entry), &value.length);
		return value;
	default:
		return bytes_of(backend_has_children(backend, entry) ? "TRUE" : "FALSE");
	}
}

struct dirsrv_bytes backend_value(const struct dirsrv_entry *entry, const struct schema_type *type,
				  void *arg)
{
	const char *name;

	for (unsigned i = 0; i < COMPUTED; i++)
		if (strcmp(computed[i], type->name) == 0)
			return backend_computed(arg, entry, i, &name);
	return (struct dirsrv_bytes){NULL, 0};
}

/* The result of a prepared node for equality. */
static void compare(struct backend *backend, struct filter *filter, struct dirsrv_entry *entry,
		    struct backend_result *result)
{
	enum filter_result matches;

	filter->kind = FILTER_PRESENT;
	matches = filter_matches_computed(filter, entry, backend_value, backend);
	if (schema_rule_of(filter->schema) == SCHEMA_NO_MATCH)
		result_set(result, LDAP_INAPPROPRIATE_MATCHING,
			   "the attribute has no equality matching rule");
	else if (filter->invalid)
		result_set(result, LDAP_INVALID_SYNTAX,
			   "the value is not of the attribute's syntax");
	else if (matches != FILTER_TRUE)
		result_set(result, LDAP_NO_SUCH_ATTRIBUTE, "%s", "");
	else {
		filter->kind = FILTER_EQUAL;
		matches = filter_matches_computed(filter, entry, backend_value, backend);
		result_set(result, matches == FILTER_TRUE ? LDAP_COMPARE_TRUE : LDAP_COMPARE_FALSE,
			   "%s", "");
	}
}

void backend_compare(struct backend *backend, struct dirsrv_bytes dn, struct dirsrv_bytes type,
		     struct dirsrv_bytes value, struct backend_result *result)
{
	struct dirsrv_entry *entry;
	struct filter *filter;

	if (cache_find(backend, dn, &entry, result))
		return;
	filter = filter_new(FILTER_EQUAL);
	if (filter) {
		filter->type = type;
		filter->value = value;
	}
	if (!filter || filter_prepare(filter))
		result_store(result, ENOMEM);
	else
		compare(backend, filter, entry, result);
	filter_free(filter);
	dirsrv_entry_put(entry);
}
