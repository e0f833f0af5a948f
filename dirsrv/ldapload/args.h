/* SPDX-License-Identifier: MIT */
/* The command line: the mix of operations, values of the naming attribute, all options; LDIF. */
#pragma once

#include "posix.h"

#include <ldap.h>

enum kind {
	KIND_SEARCH,  /* subtree search with an equality filter */
	KIND_OR,      /* subtree search for any of OR_VALUES values */
	KIND_BASE,    /* base search of an entry */
	KIND_COMPARE, /* of the naming attribute with its own value */
	KIND_MODIFY,  /* replaces an entry's description */
	KIND_ADD,     /* adds an entry; its delete follows */
	KIND_DELETE,  /* deletes what an add has added; no part of a mix */
	KIND_BIND,    /* with the connection's own name and password */
	KIND_CONNECT, /* a new connection, its bind included; no part of a mix */
	KIND_COUNT,
	MIX_COUNT = KIND_CONNECT
};

#define OR_VALUES 10

extern const char *const kind_names[KIND_COUNT];

/* The share of each kind; an add stands for itself and the delete that follows it. */
struct mix {
	unsigned weight[MIX_COUNT];
	unsigned total;
};

/*
 * mix_parse: "search=70,modify=5"; a kind without a number has the weight 1. Returns 0, or -1
 * with what is wrong in `error`.
 */
int mix_parse(struct mix *mix, const char *text, char *error, size_t size);

/* mix_choose: the kind for a random number. */
enum kind mix_choose(const struct mix *mix, uint64_t random);

#define VALUE_MAX 256 /* bytes of a value, with its NUL */
#define DN_MAX 1024   /* bytes of a DN, with its NUL */

struct values {
	char prefix[VALUE_MAX / 2], suffix[VALUE_MAX / 4];
	unsigned width; /* digits at least */
	uint64_t first, count;
	char **lines; /* of a file; NULL: the range */
};

/*
 * values_parse: "user%06u:0-9999". values_read: the lines of a file; empty ones are left out.
 * Both return 0, or -1 with what is wrong in `error`. The program keeps the lines until it ends.
 */
int values_parse(struct values *values, const char *text, char *error, size_t size);
int values_read(struct values *values, const char *path, char *error, size_t size);

/* values_get: the value with that index, which is less than `count`. Returns the base that its line
 * names, or NULL. */
const char *values_get(const struct values *values, uint64_t index, char value[VALUE_MAX]);

/* dn_print: ATTRIBUTE=VALUE,BASE, with the value escaped as RFC 4514 says. Longer DNs are cut. */
void dn_print(char dn[DN_MAX], const char *attribute, const char *value, const char *base);

/* Beside LDAP's result codes; libldap's own are -1 to -18. */
#define CODE_EMPTY (-100) /* a search that found no entry */

struct args {
	const char *uri, *bind_dn, *base, *attribute;
	const char *password; /* "" without one */
	unsigned connections, threads, depth, idle;
	unsigned per_connection; /* operations, then a new connection; 0: any number */
	uint64_t operations; /* that end the run; 0: the seconds do */
	double seconds, warm_up, timeout;
	double rate; /* operations a second; 0: no limit */
	struct mix mix;
	struct values values;
	uint64_t make_ldif; /* entries to write; 0: a run */
	bool json; /* print the results in this form */
};

/* args_parse: returns -1 to go on, otherwise the exit status: 0 after --help, 2 after saying in
 * one line what is wrong. */
int args_parse(struct args *args, int argc, char **argv);

/*
 * ldif_write: a directory to test with, as LDIF (RFC 2849): args->make_ldif entries, below those
 * that args->base names. The same arguments give the same bytes. Returns 0, or -1 with what is
 * wrong in `error`.
 */
int ldif_write(FILE *out, const struct args *args, char *error, size_t size);

/* ldif_print: one attribute, in base64 if its value needs that. */
void ldif_print(FILE *out, const char *name, const char *value);
