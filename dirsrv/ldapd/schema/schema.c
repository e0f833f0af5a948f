/* SPDX-License-Identifier: MIT */
/* Attribute types and classes: the tables, looking them up by name. */

#include "base/bytes.h"
#include "schema/schema.h"

/* --- attribute types: of RFC 4512, 4519, 4523, 4524, 2798 and 2307 what clients mostly use -- */

#define TYPE(name, alias, oid, rule, flags) {name, alias, oid, SCHEMA_##rule, flags}
#define ONE SCHEMA_SINGLE
#define SERVER (SCHEMA_OPERATIONAL | SCHEMA_READ_ONLY)
#define ORDER SCHEMA_ORDERING
#define PARTS SCHEMA_SUBSTRINGS
#define ASCII SCHEMA_ASCII
#define PRINTABLE SCHEMA_PRINTABLE

/* clang-format off */
static const struct schema_type schema_types[] = {
	TYPE("objectClass", NULL, "2.5.4.0", OID, 0),
	TYPE("creatorsName", NULL, "2.5.18.3", DN, SERVER | ONE),
	TYPE("createTimestamp", NULL, "2.5.18.1", CASE_IGNORE, SERVER | ONE | ORDER),
	TYPE("modifiersName", NULL, "2.5.18.4", DN, SERVER | ONE),
	TYPE("modifyTimestamp", NULL, "2.5.18.2", CASE_IGNORE, SERVER | ONE | ORDER),
	TYPE("entryUUID", NULL, "1.3.6.1.1.16.4", CASE_IGNORE, SERVER | ONE | ORDER),
	TYPE("cn", "commonName", "2.5.4.3", CASE_IGNORE, PARTS),
	TYPE("sn", "surname", "2.5.4.4", CASE_IGNORE, PARTS),
	TYPE("givenName", "gn", "2.5.4.42", CASE_IGNORE, PARTS),
	TYPE("initials", NULL, "2.5.4.43", CASE_IGNORE, PARTS),
	TYPE("generationQualifier", NULL, "2.5.4.44", CASE_IGNORE, PARTS),
	TYPE("title", NULL, "2.5.4.12", CASE_IGNORE, PARTS),
	TYPE("c", "countryName", "2.5.4.6", CASE_IGNORE, PARTS | ONE),
	TYPE("l", "localityName", "2.5.4.7", CASE_IGNORE, PARTS),
	TYPE("st", "stateOrProvinceName", "2.5.4.8", CASE_IGNORE, PARTS),
	TYPE("o", "organizationName", "2.5.4.10", CASE_IGNORE, PARTS),
	TYPE("ou", "organizationalUnitName", "2.5.4.11", CASE_IGNORE, PARTS),
	TYPE("street", "streetAddress", "2.5.4.9", CASE_IGNORE, PARTS),
	TYPE("description", NULL, "2.5.4.13", CASE_IGNORE, PARTS),
	TYPE("businessCategory", NULL, "2.5.4.15", CASE_IGNORE, PARTS),
	TYPE("postalCode", NULL, "2.5.4.17", CASE_IGNORE, PARTS),
	TYPE("postOfficeBox", NULL, "2.5.4.18", CASE_IGNORE, PARTS),
	TYPE("uid", "userid", "0.9.2342.19200300.100.1.1", CASE_IGNORE, PARTS),
	TYPE("serialNumber", NULL, "2.5.4.5", CASE_IGNORE, PARTS),
	TYPE("postalAddress", NULL, "2.5.4.16", CASE_IGNORE, PARTS),
	TYPE("telephoneNumber", NULL, "2.5.4.20", TELEPHONE, PARTS | PRINTABLE),
	TYPE("facsimileTelephoneNumber", "fax", "2.5.4.23", TELEPHONE, 0),
	TYPE("member", NULL, "2.5.4.31", DN, 0),
	TYPE("uniqueMember", NULL, "2.5.4.50", DN, 0),
	TYPE("owner", NULL, "2.5.4.32", DN, 0),
	TYPE("roleOccupant", NULL, "2.5.4.33", DN, 0),
	TYPE("seeAlso", NULL, "2.5.4.34", DN, 0),
	TYPE("userPassword", NULL, "2.5.4.35", OCTETS, 0),
	TYPE("dc", "domainComponent", "0.9.2342.19200300.100.1.25", CASE_IGNORE, PARTS | ONE | ASCII),
	TYPE("userCertificate", NULL, "2.5.4.36", OCTETS, 0),
	TYPE("mail", "rfc822Mailbox", "0.9.2342.19200300.100.1.3", CASE_IGNORE, PARTS | ASCII),
	TYPE("roomNumber", NULL, "0.9.2342.19200300.100.1.6", CASE_IGNORE, PARTS),
	TYPE("host", NULL, "0.9.2342.19200300.100.1.9", CASE_IGNORE, PARTS),
	TYPE("manager", NULL, "0.9.2342.19200300.100.1.10", DN, 0),
	TYPE("homePhone", "homeTelephoneNumber", "0.9.2342.19200300.100.1.20", TELEPHONE, PARTS | PRINTABLE),
	TYPE("secretary", NULL, "0.9.2342.19200300.100.1.21", DN, 0),
	TYPE("associatedDomain", NULL, "0.9.2342.19200300.100.1.37", CASE_IGNORE, PARTS | ASCII),
	TYPE("homePostalAddress", NULL, "0.9.2342.19200300.100.1.39", CASE_IGNORE, PARTS),
	TYPE("mobile", "mobileTelephoneNumber", "0.9.2342.19200300.100.1.41", TELEPHONE, PARTS | PRINTABLE),
	TYPE("pager", "pagerTelephoneNumber", "0.9.2342.19200300.100.1.42", TELEPHONE, PARTS | PRINTABLE),
	TYPE("jpegPhoto", NULL, "0.9.2342.19200300.100.1.60", NO_MATCH, 0),
	TYPE("carLicense", NULL, "2.16.840.1.113730.3.1.1", CASE_IGNORE, PARTS),
	TYPE("departmentNumber", NULL, "2.16.840.1.113730.3.1.2", CASE_IGNORE, PARTS),
	TYPE("displayName", NULL, "2.16.840.1.113730.3.1.241", CASE_IGNORE, PARTS | ONE),
	TYPE("employeeNumber", NULL, "2.16.840.1.113730.3.1.3", CASE_IGNORE, PARTS | ONE),
	TYPE("employeeType", NULL, "2.16.840.1.113730.3.1.4", CASE_IGNORE, PARTS),
	TYPE("preferredLanguage", NULL, "2.16.840.1.113730.3.1.39", CASE_IGNORE, PARTS | ONE),
	TYPE("labeledURI", NULL, "1.3.6.1.4.1.250.1.57", CASE_EXACT, PARTS),
	TYPE("ref", NULL, "2.16.840.1.113730.3.1.34", CASE_EXACT, SCHEMA_OPERATIONAL),
	TYPE("uidNumber", NULL, "1.3.6.1.1.1.1.0", INTEGER, ONE | ORDER),
	TYPE("gidNumber", NULL, "1.3.6.1.1.1.1.1", INTEGER, ONE | ORDER),
	TYPE("gecos", NULL, "1.3.6.1.1.1.1.2", CASE_IGNORE, PARTS | ONE | ASCII),
	TYPE("homeDirectory", NULL, "1.3.6.1.1.1.1.3", CASE_EXACT, ONE | ASCII),
	TYPE("loginShell", NULL, "1.3.6.1.1.1.1.4", CASE_EXACT, ONE | ASCII),
	TYPE("memberUid", NULL, "1.3.6.1.1.1.1.12", CASE_EXACT, PARTS | ASCII),
};
/* clang-format on */

/* --- classes: of the same RFCs ---------------------------------------------------------- */

/* clang-format off */
static const struct schema_class schema_classes[] = {
	{"top", "2.5.6.0", NULL},
	{"country", "2.5.6.2", "top"},
	{"locality", "2.5.6.3", "top"},
	{"organization", "2.5.6.4", "top"},
	{"organizationalUnit", "2.5.6.5", "top"},
	{"person", "2.5.6.6", "top"},
	{"organizationalPerson", "2.5.6.7", "person"},
	{"organizationalRole", "2.5.6.8", "top"},
	{"groupOfNames", "2.5.6.9", "top"},
	{"device", "2.5.6.14", "top"},
	{"groupOfUniqueNames", "2.5.6.17", "top"},
	{"extensibleObject", "1.3.6.1.4.1.1466.101.120.111", "top"},
	{"dcObject", "1.3.6.1.4.1.1466.344", "top"},
	{"account", "0.9.2342.19200300.100.4.5", "top"},
	{"domain", "0.9.2342.19200300.100.4.13", "top"},
	{"simpleSecurityObject", "0.9.2342.19200300.100.4.19", "top"},
	{"inetOrgPerson", "2.16.840.1.113730.3.2.2", "organizationalPerson"},
	{"posixAccount", "1.3.6.1.1.1.2.0", "top"},
	{"shadowAccount", "1.3.6.1.1.1.2.1", "top"},
	{"posixGroup", "1.3.6.1.1.1.2.2", "top"},
};
/* clang-format on */

/* --- a hash table over names, aliases and OIDs, made at the first use ----------------------- */

/* Slots of a table: a power of two, more than twice the names. */
#define SLOTS 1024

struct slot {
	const char *name;
	const void *item; /* the type or class */
};

static struct slot type_slots[SLOTS], class_slots[SLOTS];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static size_t hash_folded(const char *name, size_t length)
{
	uint32_t hash = (uint32_t)length;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)bytes_fold(name[i])) * UINT32_C(0x9e3779b1);
	return hash >> 16 & (SLOTS - 1);
}

/* The slot of a name, or the free one where it belongs. */
static struct slot *find(struct slot *table, const char *name, size_t length)
{
	size_t i = hash_folded(name, length);
	struct dirsrv_bytes wanted = {name, length};

	while (table[i].name && !bytes_equal_folded(bytes_of(table[i].name), wanted))
		i = (i + 1) & (SLOTS - 1);
	return &table[i];
}

static void enter(struct slot *table, const char *name, const void *item)
{
	struct slot *slot;

	if (!name)
		return;
	slot = find(table, name, strlen(name));
	slot->name = name;
	slot->item = item;
}

static void make_tables(void)
{
	for (size_t i = 0; i < sizeof(schema_types) / sizeof(*schema_types); i++) {
		enter(type_slots, schema_types[i].name, &schema_types[i]);
		enter(type_slots, schema_types[i].alias, &schema_types[i]);
		enter(type_slots, schema_types[i].oid, &schema_types[i]);
	}
	for (size_t i = 0; i < sizeof(schema_classes) / sizeof(*schema_classes); i++) {
		enter(class_slots, schema_classes[i].name, &schema_classes[i]);
		enter(class_slots, schema_classes[i].oid, &schema_classes[i]);
	}
}

const struct schema_type *schema_type_find(const char *name, size_t length)
{
	pthread_once(&made, make_tables);
	return find(type_slots, name, length)->item;
}

const struct schema_class *schema_class_find(const char *name, size_t length)
{
	pthread_once(&made, make_tables);
	return find(class_slots, name, length)->item;
}

const struct schema_class *schema_class_sup(const struct schema_class *cls)
{
	return cls->sup ? schema_class_find(cls->sup, strlen(cls->sup)) : NULL;
}

bool schema_class_is(const struct schema_class *cls, const struct schema_class *other)
{
	while (cls && cls != other)
		cls = schema_class_sup(cls);
	return cls != NULL;
}

static bool is_alpha(char c)
{
	c = bytes_fold(c);
	return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A descriptor ("cn") or an OID ("2.5.4.3"), of RFC 4512, 1.4. */
static bool valid_name(const char *name, size_t length)
{
	bool number = length && is_digit(name[0]);

	if (!length || (!number && !is_alpha(name[0])))
		return false;
	for (size_t i = 1; i < length; i++) {
		bool dot = name[i] == '.' && is_digit(name[i - 1]) && i + 1 < length;

		if (number ? !is_digit(name[i]) && !dot
			   : !is_alpha(name[i]) && !is_digit(name[i]) && name[i] != '-' &&
				     name[i] != '_')
			return false;
	}
	return true;
}

static bool valid_options(const char *options, size_t length)
{
	if (length && options[length - 1] == ';')
		return false;
	for (size_t i = 0; i < length; i++) {
		char c = options[i];

		if (c == ';' ? i && options[i - 1] == ';'
			     : !is_alpha(c) && !is_digit(c) && c != '-' && c != '_')
			return false;
	}
	return true;
}

const struct schema_type *schema_split(struct dirsrv_bytes description, struct dirsrv_bytes *base,
				       bool *valid)
{
	const char *text = description.data;
	const char *semicolon = description.length ? memchr(text, ';', description.length) : NULL;
	size_t length = semicolon ? (size_t)(semicolon - text) : description.length;
	const struct schema_type *type = schema_type_find(text, description.length);

	*valid = valid_name(text, length) &&
		 valid_options(text + length, description.length - length);
	*base = type ? bytes_of(type->name) : description;
	return type;
}

enum schema_rule schema_rule_of(const struct schema_type *type)
{
	return type ? type->rule : SCHEMA_CASE_IGNORE;
}

unsigned schema_flags_of(const struct schema_type *type)
{
	return type ? type->flags : SCHEMA_ORDERING | SCHEMA_SUBSTRINGS;
}
