/* SPDX-License-Identifier: MIT */
/*
 * The schema: attribute types and object classes of RFC 4512, 4519, 4523, 4524, 2798 and 3045 in
 * two tables, and what follows from them: the normal form of a value by its type's matching rule,
 * checks of values. What classes demand of entries, and allow, is not checked.
 *
 * Types and classes that are not in the tables are accepted. Values of such types match as
 * those of directory strings do, without regard to case.
 *
 * Everything is constant: all functions are MT-safe.
 */
#pragma once

#include <slab/dirsrv/entry.h>

#include "base/memory.h"

/* How values of a type match. Normal forms are in the order of the values, byte by byte. */
enum schema_rule {
	SCHEMA_CASE_IGNORE, /* blanks at the ends dropped, several in a row as one; case folded */
	SCHEMA_CASE_EXACT, /* blanks as above */
	SCHEMA_TELEPHONE, /* without blanks and '-' */
	SCHEMA_INTEGER,
	SCHEMA_OCTETS, /* as they are */
	SCHEMA_DN,
	SCHEMA_OID, /* a name or number of a class or type */
	SCHEMA_NO_MATCH /* equality is not defined */
};

/* Properties of types. */
#define SCHEMA_SINGLE (1u << 0)
#define SCHEMA_OPERATIONAL (1u << 1)
#define SCHEMA_READ_ONLY (1u << 2) /* clients cannot set it */
#define SCHEMA_ORDERING (1u << 3) /* >= and <= are defined */
#define SCHEMA_SUBSTRINGS (1u << 4) /* substrings are defined */
#define SCHEMA_ASCII (1u << 5) /* values are of ASCII */
#define SCHEMA_PRINTABLE (1u << 6) /* values are PrintableStrings (RFC 4517, 3.2) */

struct schema_type {
	const char *name;
	const char *alias; /* or NULL */
	const char *oid;
	enum schema_rule rule;
	unsigned flags;
};

struct schema_class {
	const char *name;
	const char *oid;
	const char *sup; /* the superclass, or NULL */
};

/* --- looking up -------------------------------------------------------------------------- */

/* schema_type_find: the type with a name, alias or OID, ignoring case; or
 * NULL. */
const struct schema_type *schema_type_find(const char *name, size_t length);

/* schema_class_find: the class with a name or OID, ignoring case; or NULL. schema_class_is: whether
 * it is another one, or derived from it. schema_class_sup: its superclass, or NULL. */
const struct schema_class *schema_class_find(const char *name, size_t length);
bool schema_class_is(const struct schema_class *cls, const struct schema_class *other);
const struct schema_class *schema_class_sup(const struct schema_class *cls);

/*
 * schema_split: the type of an attribute description. A type with options, as "cn;lang-de", is a
 * type of its own, which is not in the schema.
 *
 * @base  set to the name as the schema has it, or as it was written
 *
 * Returns the type, or NULL: it is not in the schema. *valid says whether the description
 * has the form of RFC 4512.
 */
const struct schema_type *schema_split(struct dirsrv_bytes description, struct dirsrv_bytes *base,
				       bool *valid);

/* schema_rule_of, schema_flags_of: those of a type; NULL: of types that are not in the schema. */
enum schema_rule schema_rule_of(const struct schema_type *type);
unsigned schema_flags_of(const struct schema_type *type);

/* --- values ------------------------------------------------------------------------------ */

/*
 * schema_normalize: append the normal form of a value to a buffer. Two values match exactly when
 * their normal forms have the same bytes.
 * Returns false: the value is not of the syntax, and the buffer is unchanged; or there is no
 * memory, and out->failed is set.
 */
bool schema_normalize(enum schema_rule rule, struct dirsrv_bytes value, struct buffer *out);

/* schema_allows: whether a value has only characters of the type's syntax. */
bool schema_allows(const struct schema_type *type, struct dirsrv_bytes value);

/* schema_valid: whether a value is of the type's syntax. SCHEMA_NO_MATCH and unknown types
 * allow all. An empty value is valid for octets alone. */
bool schema_valid(const struct schema_type *type, struct dirsrv_bytes value);

/* Where a part of a substring assertion stands. */
enum schema_part { SCHEMA_INITIAL, SCHEMA_ANY, SCHEMA_FINAL };

/* schema_normalize_part: the same for a part of a substring assertion: blanks at an end count
 * where they touch more of the value. */
bool schema_normalize_part(enum schema_rule rule, enum schema_part part, struct dirsrv_bytes value,
			   struct buffer *out);
