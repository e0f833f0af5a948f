/* SPDX-License-Identifier: MIT */
/*
 * The objects of a directory server, in the sizes that 389-ds has them.
 *
 * They fall in two classes that an allocator should not mix: pblocks and
 * operations live for microseconds to milliseconds and are born on a listener,
 * used by a worker and freed by the listener again; entries with their
 * attributes, values and DNs live for seconds to months, and their copies (what
 * a search sends) as long as an operation. Each has a cache of its own; where
 * the memory comes from is decided in memory.h alone.
 */
#ifndef DIRECTORY_OBJECTS_H
#define DIRECTORY_OBJECTS_H

#include "entry_limits.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* The kinds of operations and how many of 100 are of each kind. */
enum kind {
	KIND_SEARCH, /* equality on the naming attribute: 70 */
	KIND_BASE,   /* one entry by its DN: 10 */
	KIND_OR,     /* an OR of ten equalities: 5 */
	KIND_MODIFY, /* replace one attribute's values: 5 */
	KIND_ADD,    /* 5 */
	KIND_DELETE, /* 5 */
	KIND_COUNT
};

/* LDAP's result codes, as far as this directory has them. */
enum result_code {
	RESULT_SUCCESS = 0,
	RESULT_NO_SUCH_OBJECT = 32,
	RESULT_ALREADY_EXISTS = 68,
};

/* A flat parameter block: every plugin of a server finds its arguments here. */
enum pblock_parameter {
	PB_BACKEND,
	PB_CONNECTION,
	PB_OPERATION,
	PB_KIND,
	PB_TARGET,
	PB_FILTER,
	PB_CHANGE,
	PB_ENTRY,
	PB_MATCH,
	PB_RESULT_CODE,
	PB_RESULT_ENTRIES,
	PB_COUNT = 89
};

struct pblock {
	uintptr_t parameter[PB_COUNT];
};

/* One value; up to 16 bytes lie in the object, more in memory of their own. */
#define VALUE_INLINE 16
struct value {
	struct value *next;
	union {
		char *data;
		char small[VALUE_INLINE];
	} at;
	uint32_t length;
	uint32_t hash; /* of names and filters: set by value_hash() */
};

struct attribute {
	struct attribute *next;
	struct value *first;
	struct value *last;
	uint32_t count;
	uint32_t type_length;
	uint64_t changed; /* id of the operation that wrote it */
	char type[ATTRIBUTE_TYPE_MAX + 1];
};

struct dn {
	char *text;       /* as it was written */
	char *normalized; /* lower case, without optional blanks */
	uint32_t length;
	uint32_t normalized_length;
	uint64_t hash; /* of the normalized form */
	uint32_t rdns;
	uint32_t type_length; /* of the naming attribute, at the start of text */
};

struct entry {
	struct entry *next_dn;   /* in its DN bucket; in an operation: next result */
	struct entry *next_name; /* in its name bucket */
	struct dn *dn;
	struct value *name; /* the naming attribute's value in lower case */
	struct attribute *first;
	struct attribute *last;
	uint64_t id;
	uint64_t changed; /* id of the last operation that wrote it */
	uint32_t attributes;
	uint32_t values;
	uint64_t flags;
	char uuid[48];
	pthread_rwlock_t lock; /* attributes and values; constructed once */
};

struct operation {
	struct pblock *pblock;
	struct dn *target;        /* base of a search, entry of everything else */
	struct value *filter;     /* searches: one equality, or the terms of the OR */
	struct attribute *change; /* modify: what to replace */
	struct entry *entry;      /* add: the new entry */
	struct entry *results;    /* searches: copies of what was found */
	uint64_t id;
	uint32_t kind;
	uint32_t listener; /* who gets it back */
	uint32_t slot;     /* add and delete: which of the listener's entries */
	uint32_t result_code;
	uint32_t result_entries;
	uint32_t scope;
	/* What a whole server keeps here too: controls, paging and sorting,
	 * access control, timing. Zeroed with the rest. */
	unsigned char server[400];
};

_Static_assert(sizeof(struct pblock) == 712, "a flat pblock");
_Static_assert(sizeof(struct operation) == 480, "an operation");
_Static_assert(sizeof(struct entry) == 184, "an entry");
_Static_assert(sizeof(struct attribute) == 136, "an attribute");
_Static_assert(sizeof(struct dn) == 40, "a DN");
_Static_assert(sizeof(struct value) == 32, "a value");

#endif /* DIRECTORY_OBJECTS_H */
