/* SPDX-License-Identifier: MIT */
/* Settings of operations and connections. */
#ifndef LDAPD_OPS_SETTINGS_H
#define LDAPD_OPS_SETTINGS_H

#include "net/net.h"

#include <slab/dirsrv/entry.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum write_access {
	WRITE_ROOT,  /* only the root DN */
	WRITE_BOUND, /* every client that has bound as an entry */
};

struct settings {
	char root_dn[1024];      /* "": there is none */
	char root_password[1024]; /* cleartext or {CRYPT}…; "": no client can bind with it */
	bool anonymous_read;
	enum write_access write_access;
	unsigned operations_per_connection;
	unsigned operations_in_all;
	unsigned long size_limit; /* entries of a search; 0: none */
	unsigned time_limit;      /* seconds of a search; 0: none */
	unsigned long work_limit; /* entries that a search may evaluate; 0: none */
	struct net_limits net;
};

/* password_supported: whether the server can check a stored password: cleartext, or {CRYPT} and a
 * hash. Any other {SCHEME} is not supported. */
bool password_supported(struct dirsrv_bytes stored);

#endif /* LDAPD_OPS_SETTINGS_H */
