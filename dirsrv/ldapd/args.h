/* SPDX-License-Identifier: MIT */
/* The command line. */
#ifndef LDAPD_ARGS_H
#define LDAPD_ARGS_H

#include "config.h"

struct args {
	const char *config_path; /* NULL: none */
	const char *ldif;        /* load this file; NULL: none */
	bool packages;           /* load the machine's package catalogue */
	int argc;
	char **argv;
};

/*
 * args_parse: read the options into args, and configuration file and settings into config. For a
 * reload it may be called again with another config.
 *
 * Returns -1: go on; otherwise the exit status, after a message or the help.
 */
int args_parse(struct args *args, struct config *config);

#endif /* LDAPD_ARGS_H */
