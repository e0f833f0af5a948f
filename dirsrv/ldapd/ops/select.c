/* SPDX-License-Identifier: MIT */
/* What a search asks for: how many entries, and which attributes of them. */
#include "ops/internal.h"

#include "base/bytes.h"
#include "schema/schema.h"

#include <ldap.h>

unsigned long select_limit(const struct operation *operation)
{
	unsigned long wanted = operation->request->search.size_limit;
	unsigned long allowed = operation->settings->size_limit;

	return !wanted || (allowed && allowed < wanted) ? allowed : wanted;
}

/* What the list of attributes has besides names (RFC 4511, 4.5.1.8; RFC 3673). */
struct wanted {
	bool user, operational;
};

static struct wanted wanted_all(const struct search_request *search)
{
	struct wanted wanted = {.user = !search->attribute_count};

	for (size_t i = 0; i < search->attribute_count; i++) {
		wanted.user |= request_bytes_equal(search->attributes[i], LDAP_ALL_USER_ATTRIBUTES);
		wanted.operational |=
			request_bytes_equal(search->attributes[i], LDAP_ALL_OPERATIONAL_ATTRIBUTES);
	}
	return wanted;
}

/* A name without options asks for the type with all options, and for its subtypes. */
static bool names(struct dirsrv_bytes asked, const struct schema_type *type,
		  struct dirsrv_bytes base, struct dirsrv_bytes options)
{
	struct dirsrv_bytes asked_base, asked_options;
	bool valid;
	const struct schema_type *asked_type =
		schema_split(asked, &asked_base, &asked_options, &valid);

	if (asked_options.length && !bytes_equal_folded(asked_options, options))
		return false;
	if (type && asked_type)
		return schema_type_is(type, asked_type);
	return bytes_equal_folded(asked_base, base);
}

static bool named(const struct search_request *search, const struct schema_type *type,
		  struct dirsrv_bytes base, struct dirsrv_bytes options)
{
	for (size_t i = 0; i < search->attribute_count; i++)
		if (names(search->attributes[i], type, base, options))
			return true;
	return false;
}

/* Everything in the server's own entries is operational except objectClass and cn. */
static bool is_operational(const struct schema_type *type, bool stored, struct dirsrv_bytes base)
{
	if (stored)
		return schema_flags_of(type) & SCHEMA_OPERATIONAL;
	return !request_bytes_equal(base, "objectClass") && !request_bytes_equal(base, "cn");
}

static bool is_wanted(const struct search_request *search, struct wanted wanted,
		      struct dirsrv_bytes description, bool stored)
{
	struct dirsrv_bytes base, options;
	bool valid, operational;
	const struct schema_type *type = schema_split(description, &base, &options, &valid);

	operational = is_operational(type, stored, base);
	if (operational ? wanted.operational : wanted.user)
		return true;
	return named(search, type, base, options);
}

static void put_values(const struct dirsrv_attribute *attribute)
{
	const struct dirsrv_value *value;

	for (value = dirsrv_attribute_first(attribute); value; value = dirsrv_value_next(value))
		response_value(dirsrv_value_data(value));
}

static void put_attribute(const struct operation *operation,
			  const struct dirsrv_attribute *attribute, struct wanted wanted,
			  bool stored)
{
	const struct search_request *search = &operation->request->search;
	struct dirsrv_bytes type;

	type.data = dirsrv_attribute_type(attribute, &type.length);
	if (!is_wanted(search, wanted, type, stored) || access_is_password(type))
		return;
	response_attribute_begin(type.data, type.length);
	if (!search->types_only)
		put_values(attribute);
	response_attribute_end();
}

/* Attributes that the entry does not store. Most searches ask for none of them. */
static void put_computed(const struct operation *operation, const struct dirsrv_entry *entry,
			 struct wanted wanted)
{
	const struct search_request *search = &operation->request->search;
	struct backend *backend = operation->server->backend;
	struct dirsrv_bytes value;
	const char *type;

	for (unsigned i = 0; (value = backend_computed(backend, entry, i, &type)).data; i++) {
		if (!is_wanted(search, wanted, bytes_of(type), true))
			continue;
		response_attribute_begin(type, strlen(type));
		if (!search->types_only)
			response_value(value);
		response_attribute_end();
	}
}

/* Whether an attribute list may ask for more than user attributes. */
static bool asks_computed(const struct search_request *search, struct wanted wanted)
{
	if (wanted.operational)
		return true;
	for (size_t i = 0; i < search->attribute_count; i++) {
		const struct schema_type *type =
			schema_type_find(search->attributes[i].data, search->attributes[i].length);

		if (schema_flags_of(type) & SCHEMA_COMPUTED)
			return true;
	}
	return false;
}

struct dirsrv_bytes select_entry(const struct operation *operation, struct dirsrv_entry *entry,
				 const char *made)
{
	const struct search_request *search = &operation->request->search;
	struct wanted wanted = wanted_all(search);
	const struct dirsrv_attribute *attribute;
	size_t length = made ? strlen(made) : 0;
	const char *dn = made ? made : dirsrv_dn_text(dirsrv_entry_dn(entry), &length);

	response_entry_begin(operation->request->message_id, dn, length);
	for (attribute = dirsrv_entry_first(entry); attribute;
	     attribute = dirsrv_attribute_next(attribute))
		put_attribute(operation, attribute, wanted, !made);
	if (!made && asks_computed(search, wanted))
		put_computed(operation, entry, wanted);
	return response_entry_end();
}
