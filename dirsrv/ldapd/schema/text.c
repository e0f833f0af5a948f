/* SPDX-License-Identifier: MIT */
/* The text of the subschema entry, RFC 4512, 4.1 and 4.2. */
#include <stdio.h>
#include <string.h>

#include "schema/tables.h"

/* The names of a rule's matching rules, or NULL: there is none. */
struct rule_names {
	const char *equality;
	const char *ordering;
	const char *substrings;
};

static const struct rule_names rules[] = {
	[SCHEMA_CASE_IGNORE] = {"caseIgnoreMatch", "caseIgnoreOrderingMatch",
				"caseIgnoreSubstringsMatch"},
	[SCHEMA_CASE_EXACT] = {"caseExactMatch", "caseExactOrderingMatch",
			       "caseExactSubstringsMatch"},
	[SCHEMA_NUMERIC] = {"numericStringMatch", "numericStringOrderingMatch",
			    "numericStringSubstringsMatch"},
	[SCHEMA_TELEPHONE] = {"telephoneNumberMatch", NULL, "telephoneNumberSubstringsMatch"},
	[SCHEMA_INTEGER] = {"integerMatch", "integerOrderingMatch", NULL},
	[SCHEMA_BOOLEAN] = {"booleanMatch", NULL, NULL},
	[SCHEMA_OCTETS] = {"octetStringMatch", NULL, NULL},
	[SCHEMA_DN] = {"distinguishedNameMatch", NULL, NULL},
	[SCHEMA_TIME] = {"generalizedTimeMatch", "generalizedTimeOrderingMatch", NULL},
	[SCHEMA_OID] = {"objectIdentifierMatch", NULL, NULL},
	[SCHEMA_UUID] = {"uuidMatch", "uuidOrderingMatch", NULL},
	[SCHEMA_NO_MATCH] = {NULL, NULL, NULL},
};

/* A matching rule, or a syntax: its OID, name, and the syntax of its assertion. */
struct named {
	const char *oid;
	const char *name;
	const char *syntax;
};

#define SYNTAX "1.3.6.1.4.1.1466.115.121.1."

static const struct named matching_rules[] = {
	{"2.5.13.0", "objectIdentifierMatch", SYNTAX "38"},
	{"2.5.13.1", "distinguishedNameMatch", SYNTAX "12"},
	{"2.5.13.2", "caseIgnoreMatch", SYNTAX "15"},
	{"2.5.13.3", "caseIgnoreOrderingMatch", SYNTAX "15"},
	{"2.5.13.4", "caseIgnoreSubstringsMatch", SYNTAX "58"},
	{"2.5.13.5", "caseExactMatch", SYNTAX "15"},
	{"2.5.13.6", "caseExactOrderingMatch", SYNTAX "15"},
	{"2.5.13.7", "caseExactSubstringsMatch", SYNTAX "58"},
	{"2.5.13.8", "numericStringMatch", SYNTAX "36"},
	{"2.5.13.9", "numericStringOrderingMatch", SYNTAX "36"},
	{"2.5.13.10", "numericStringSubstringsMatch", SYNTAX "58"},
	{"2.5.13.13", "booleanMatch", SYNTAX "7"},
	{"2.5.13.14", "integerMatch", SYNTAX "27"},
	{"2.5.13.15", "integerOrderingMatch", SYNTAX "27"},
	{"2.5.13.17", "octetStringMatch", SYNTAX "40"},
	{"2.5.13.20", "telephoneNumberMatch", SYNTAX "50"},
	{"2.5.13.21", "telephoneNumberSubstringsMatch", SYNTAX "58"},
	{"2.5.13.27", "generalizedTimeMatch", SYNTAX "24"},
	{"2.5.13.28", "generalizedTimeOrderingMatch", SYNTAX "24"},
	{"1.3.6.1.1.16.2", "uuidMatch", "1.3.6.1.1.16.1"},
	{"1.3.6.1.1.16.3", "uuidOrderingMatch", "1.3.6.1.1.16.1"},
};

static const struct named syntaxes[] = {
	{SYNTAX "3", "Attribute Type Description", NULL},
	{SYNTAX "4", "Audio", NULL},
	{SYNTAX "5", "Binary", NULL},
	{SYNTAX "6", "Bit String", NULL},
	{SYNTAX "7", "Boolean", NULL},
	{SYNTAX "8", "Certificate", NULL},
	{SYNTAX "9", "Certificate List", NULL},
	{SYNTAX "10", "Certificate Pair", NULL},
	{SYNTAX "12", "DN", NULL},
	{SYNTAX "13", "Data Quality", NULL},
	{SYNTAX "14", "Delivery Method", NULL},
	{SYNTAX "15", "Directory String", NULL},
	{SYNTAX "21", "Enhanced Guide", NULL},
	{SYNTAX "22", "Facsimile Telephone Number", NULL},
	{SYNTAX "23", "Fax", NULL},
	{SYNTAX "24", "Generalized Time", NULL},
	{SYNTAX "25", "Guide", NULL},
	{SYNTAX "26", "IA5 String", NULL},
	{SYNTAX "27", "INTEGER", NULL},
	{SYNTAX "28", "JPEG", NULL},
	{SYNTAX "30", "Matching Rule Description", NULL},
	{SYNTAX "34", "Name And Optional UID", NULL},
	{SYNTAX "36", "Numeric String", NULL},
	{SYNTAX "37", "Object Class Description", NULL},
	{SYNTAX "38", "OID", NULL},
	{SYNTAX "40", "Octet String", NULL},
	{SYNTAX "41", "Postal Address", NULL},
	{SYNTAX "44", "Printable String", NULL},
	{SYNTAX "49", "Supported Algorithm", NULL},
	{SYNTAX "50", "Telephone Number", NULL},
	{SYNTAX "51", "Teletex Terminal Identifier", NULL},
	{SYNTAX "52", "Telex Number", NULL},
	{SYNTAX "54", "LDAP Syntax Description", NULL},
	{SYNTAX "58", "Substring Assertion", NULL},
	{"1.3.6.1.1.16.1", "UUID", NULL},
};

static void keyword(struct buffer *out, const char *word, const char *value)
{
	if (!value)
		return;
	buffer_text(out, word);
	buffer_text(out, value);
}

static void type_text(const struct schema_type *type, struct buffer *out)
{
	const struct rule_names *names = &rules[type->rule];

	keyword(out, "( ", type->oid);
	keyword(out, type->alias ? " NAME ( '" : " NAME '", type->name);
	keyword(out, "' '", type->alias);
	buffer_text(out, type->alias ? "' )" : "'");
	keyword(out, " SUP ", type->sup);
	keyword(out, " EQUALITY ", names->equality);
	if (type->flags & SCHEMA_ORDERING)
		keyword(out, " ORDERING ", names->ordering);
	if (type->flags & SCHEMA_SUBSTRINGS)
		keyword(out, " SUBSTR ", names->substrings);
	keyword(out, " SYNTAX 1.3.6.1.", type->syntax);
	if (type->flags & SCHEMA_SINGLE)
		buffer_text(out, " SINGLE-VALUE");
	if (type->flags & SCHEMA_READ_ONLY)
		buffer_text(out, " NO-USER-MODIFICATION");
	if (type->flags & SCHEMA_OPERATIONAL)
		buffer_text(out, " USAGE directoryOperation");
	buffer_text(out, " )");
}

/* " MUST ( a $ b )" */
static void type_list(struct buffer *out, const char *word, const char *list)
{
	if (!*list)
		return;
	buffer_text(out, word);
	for (; *list; list++)
		if (*list == ' ')
			buffer_text(out, " $ ");
		else
			buffer_byte(out, *list);
	buffer_text(out, " )");
}

static void class_text(const struct schema_class *cls, struct buffer *out)
{
	static const char *const kinds[] = {" ABSTRACT", " STRUCTURAL", " AUXILIARY"};

	keyword(out, "( ", cls->oid);
	keyword(out, " NAME '", cls->name);
	buffer_text(out, "'");
	keyword(out, " SUP ", cls->sup);
	buffer_text(out, kinds[cls->kind]);
	type_list(out, " MUST ( ", cls->must);
	type_list(out, " MAY ( ", cls->may);
	buffer_text(out, " )");
}

static void named_text(const struct named *named, struct buffer *out)
{
	keyword(out, "( ", named->oid);
	keyword(out, named->syntax ? " NAME '" : " DESC '", named->name);
	buffer_text(out, "'");
	keyword(out, " SYNTAX ", named->syntax);
	buffer_text(out, " )");
}

bool schema_text(enum schema_table table, size_t i, struct buffer *out)
{
	const size_t counts[] = {
		[SCHEMA_TYPES] = schema_type_count,
		[SCHEMA_CLASSES] = schema_class_count,
		[SCHEMA_RULES] = sizeof(matching_rules) / sizeof(*matching_rules),
		[SCHEMA_SYNTAXES] = sizeof(syntaxes) / sizeof(*syntaxes),
	};

	if (i >= counts[table])
		return false;
	if (table == SCHEMA_TYPES)
		type_text(&schema_types[i], out);
	else if (table == SCHEMA_CLASSES)
		class_text(&schema_classes[i], out);
	else
		named_text(table == SCHEMA_RULES ? &matching_rules[i] : &syntaxes[i], out);
	return true;
}
