/* SPDX-License-Identifier: MIT */
/* The command line. */
#ifndef LDAPLOAD_ARGS_H
#define LDAPLOAD_ARGS_H

#include "kind.h"
#include "values.h"

#include <stdbool.h>

#define CODES_MAX 32
/* Beside LDAP's result codes; libldap's own are -1 to -18. */
#define CODE_EMPTY (-100) /* a search that found no entry */

/* Result codes that are no failure, beside success and compareTrue. */
struct accepted {
	int codes[CODES_MAX];
	unsigned count;
};

struct args {
	const char *uri, *bind_dn, *base, *attribute;
	char *password; /* "" without one */
	unsigned connections, threads, depth, idle;
	unsigned per_connection; /* operations, then a new connection; 0: any number */
	uint64_t operations;  /* that end the run; 0: the seconds do */
	double seconds, warm_up, timeout;
	double rate; /* operations a second; 0: no limit */
	struct mix mix;
	struct values values;
	struct accepted accepted;
	uint64_t seed;
	uint64_t make_ldif; /* entries to write; 0: a run */
	bool json; /* print the results in this form */
};

/* args_parse: returns -1 to go on, otherwise the exit status: 0 after --help, 2 after saying in
 * one line what is wrong. */
int args_parse(struct args *args, int argc, char **argv);

#endif /* LDAPLOAD_ARGS_H */
