/* SPDX-License-Identifier: MIT */
/* The command line. */
#ifndef LDAPD_ARGS_H
#define LDAPD_ARGS_H

#include "config.h"

/* args_parse: defaults and options into config. Returns -1: go on; otherwise the exit status, after a
 * message or the help. */
int args_parse(struct config *config, int argc, char **argv);

#endif /* LDAPD_ARGS_H */
