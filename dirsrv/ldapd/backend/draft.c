/* SPDX-License-Identifier: MIT */
/* Entries that are being made or changed: modifications, the RDN, stamps. */
#include "backend/internal.h"

#include <sys/random.h>

#include "base/bytes.h"
#include "schema/dn.h"
#include "schema/schema.h"

bool draft_failed(const struct draft *draft)
{
	return draft->pairs.failed || draft->arena.failed;
}

void draft_free(struct draft *draft)
{
	pairs_free(&draft->pairs);
	arena_free(&draft->arena);
}

void draft_load(struct draft *draft, const struct pairs *pairs)
{
	for (size_t i = 0; i < pairs->count; i++)
		pairs_insert(&draft->pairs, i, pairs->pair[i].type, pairs->pair[i].value);
}

static int refuse(struct draft *draft, int code, const char *what, const struct values *values,
		  const char *why)
{
	result_set(draft->result, code, "%s%s: %s", what, (const char *)values->name.data, why);
	return code;
}

/* Whether clients may set this type. */
static int check_writable(struct draft *draft, const struct values *values)
{
	unsigned flags = schema_flags_of(values->schema);

	if (!(flags & SCHEMA_READ_ONLY) || draft->trusted)
		return LDAP_SUCCESS;
	return refuse(draft, LDAP_CONSTRAINT_VIOLATION, "", values, "no user modification allowed");
}

/* --- new entries ----------------------------------------------------------------------------- */

static int check_group(struct draft *draft, size_t at, size_t *end)
{
	struct dirsrv_bytes base;
	struct values values = {.name = draft->pairs.pair[at].type, .at = at};
	bool valid;
	int code;

	values.schema = schema_split(values.name, &base, &valid);
	for (*end = at; *end < draft->pairs.count; ++*end, values.count++)
		if (!bytes_equal_folded(draft->pairs.pair[*end].type, values.name))
			break;
	code = check_writable(draft, &values);
	return code ? code : values_check(draft, &values, "");
}

int draft_add_pairs(struct draft *draft, const struct dirsrv_pair *pairs, size_t n)
{
	struct values values = {0};
	struct dirsrv_bytes last = {NULL, 0};
	int code = LDAP_SUCCESS;

	for (size_t i = 0; i < n && !code; i++) {
		/* Values of a type mostly follow each other. */
		if (!last.data || !bytes_equal(last, pairs[i].type))
			code = values_find(draft, pairs[i].type, &values);
		last = pairs[i].type;
		if (!code)
			values_append(draft, &values, pairs[i].value);
		if (draft_failed(draft))
			return code;
	}
	for (size_t at = 0; at < draft->pairs.count && !code;)
		code = check_group(draft, at, &at);
	return code;
}

/* --- modifications --------------------------------------------------------------------------- */

static int add_values(struct draft *draft, struct values *values,
		      const struct backend_modification *modification)
{
	if (!modification->count)
		return refuse(draft, LDAP_PROTOCOL_ERROR, "modify/add: ", values,
			      "no values given");
	for (size_t i = 0; i < modification->count; i++)
		values_append(draft, values, modification->values[i]);
	return draft_failed(draft) ? LDAP_OTHER : values_check(draft, values, "modify/add: ");
}

int draft_check_values(struct draft *draft, const struct backend_modification *modification)
{
	static const char *const what[] = {[BACKEND_ADD] = "modify/add: ",
					   [BACKEND_DELETE] = "modify/delete: ",
					   [BACKEND_REPLACE] = "modify/replace: "};
	struct values values;
	int code = values_find(draft, modification->type, &values);

	if (!code)
		code = check_writable(draft, &values);
	for (size_t i = 0; i < modification->count && !code; i++)
		values_append(draft, &values, modification->values[i]);
	if (code || draft_failed(draft))
		return code;
	return values_check(draft, &values, what[modification->change]);
}

static int delete_values(struct draft *draft, struct values *values,
			 const struct backend_modification *modification)
{
	if (modification->count && schema_rule_of(values->schema) == SCHEMA_NO_MATCH)
		return refuse(draft, LDAP_INAPPROPRIATE_MATCHING, "modify/delete: ", values,
			      "no equality matching rule");
	if (!values->count)
		return refuse(draft, LDAP_NO_SUCH_ATTRIBUTE, "modify/delete: ", values,
			      "no such attribute");
	if (!modification->count) {
		pairs_remove(&draft->pairs, values->at, values->count);
		return LDAP_SUCCESS;
	}
	if (!values_remove(draft, values, modification->values, modification->count) &&
	    !draft_failed(draft))
		return refuse(draft, LDAP_NO_SUCH_ATTRIBUTE, "modify/delete: ", values,
			      "no such value");
	return LDAP_SUCCESS;
}

static int replace_values(struct draft *draft, struct values *values,
			  const struct backend_modification *modification)
{
	pairs_remove(&draft->pairs, values->at, values->count);
	values->count = 0;
	for (size_t i = 0; i < modification->count; i++)
		values_append(draft, values, modification->values[i]);
	return LDAP_SUCCESS;
}

int draft_modify(struct draft *draft, const struct backend_modification *modification)
{
	struct values values;
	int code = values_find(draft, modification->type, &values);

	if (code || draft_failed(draft))
		return code;
	switch (modification->change) {
	case BACKEND_ADD:
		return add_values(draft, &values, modification);
	case BACKEND_DELETE:
		return delete_values(draft, &values, modification);
	case BACKEND_REPLACE:
		break;
	}
	return replace_values(draft, &values, modification);
}

/* --- the RDN --------------------------------------------------------------------------------- */

static int rdn_part(struct draft *draft, const struct dn_part *part, enum draft_rdn what)
{
	struct values values;
	long at;
	int code = values_find(draft, part->type, &values);

	if (code)
		return code;
	at = values_position(draft, &values, part->value);
	if (what == DRAFT_RDN_CHECK && at < 0)
		return refuse(draft, LDAP_NOT_ALLOWED_ON_RDN, "", &values,
			      "the value is part of the entry's RDN");
	if (what != DRAFT_RDN_ADD || at >= 0)
		return LDAP_SUCCESS;
	values_append(draft, &values, arena_copy(&draft->arena, part->value));
	code = check_writable(draft, &values);
	return code ? code : values_check(draft, &values, "RDN: ");
}

int draft_rdn(struct draft *draft, struct dirsrv_bytes dn, enum draft_rdn what)
{
	struct dirsrv_bytes rest = dn_rdn(dn);
	struct buffer room = {0};
	struct dn_part part;
	int code = LDAP_SUCCESS;

	while (!code && dn_part_next(&rest, &part, &room) > 0) {
		code = rdn_part(draft, &part, what);
		buffer_clear(&room);
	}
	draft->arena.failed |= room.failed;
	buffer_free(&room);
	return code;
}

/* --- stamps ---------------------------------------------------------------------------------- */

/* Replace an operational attribute, without checks. */
static void set(struct draft *draft, const char *type, const char *value)
{
	struct values values;

	if (values_find(draft, bytes_of(type), &values))
		return;
	pairs_remove(&draft->pairs, values.at, values.count);
	values.count = 0;
	values_append(draft, &values, arena_copy(&draft->arena, bytes_of(value)));
}

/* A random UUID, RFC 4122, 4.4. */
static void make_uuid(char out[37])
{
	unsigned char b[16];

	while (getrandom(b, sizeof(b), 0) != sizeof(b))
		continue;
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	snprintf(out, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
		 b[13], b[14], b[15]);
}

static bool has_type(const struct draft *draft, const char *type)
{
	for (size_t at = 0; at < draft->pairs.count; at++)
		if (bytes_equal_folded(draft->pairs.pair[at].type, bytes_of(type)))
			return true;
	return false;
}

int draft_check(struct draft *draft)
{
	if (has_type(draft, "objectClass"))
		return LDAP_SUCCESS;
	result_set(draft->result, LDAP_OBJECT_CLASS_VIOLATION, "no objectClass attribute");
	return LDAP_OBJECT_CLASS_VIOLATION;
}

static void set_missing(struct draft *draft, const char *type, const char *value)
{
	if (!has_type(draft, type))
		set(draft, type, value);
}

void draft_stamp(struct draft *draft, const char *actor, bool created)
{
	char now[sizeof("YYYYMMDDHHMMSSZ")], uuid[37];
	const time_t seconds = time(NULL);
	struct tm utc;

	strftime(now, sizeof(now), "%Y%m%d%H%M%SZ", gmtime_r(&seconds, &utc));
	if (!created) {
		set(draft, "modifiersName", actor);
		set(draft, "modifyTimestamp", now);
		return;
	}
	make_uuid(uuid);
	set_missing(draft, "entryUUID", uuid);
	set_missing(draft, "creatorsName", actor);
	set_missing(draft, "createTimestamp", now);
	set_missing(draft, "modifiersName", actor);
	set_missing(draft, "modifyTimestamp", now);
}
