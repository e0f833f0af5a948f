/* SPDX-License-Identifier: MIT */
/* The configuration: options of the command line. ldapd(1) describes them. */
#ifndef LDAPD_CONFIG_H
#define LDAPD_CONFIG_H

#include "backend/backend.h"
#include "base/log.h"
#include "net/net.h"
#include "ops/settings.h"

#define CONFIG_TEXT_MAX 256

struct config {
	const char *ldif; /* load this file; NULL: none */
	bool packages; /* load the machine's package catalogue */
	enum net_form form;
	unsigned threads;
	unsigned listeners; /* 0: one for three threads that wait */
	unsigned processors; /* that the process may use */
	char listen[NET_ADDRESSES_MAX][CONFIG_TEXT_MAX];
	unsigned listen_count;
	char db[CONFIG_TEXT_MAX]; /* "": a temporary database */
	bool fsync;
	uint64_t cache_bytes, map_limit;
	uint64_t memory_limit; /* of the process; 0: none */
	char suffix[1024]; /* "": that of the database */
	char index[STORE_INDEXES_MAX][CONFIG_TEXT_MAX];
	unsigned index_count;
	enum log_level log_level;
	unsigned accept_delay_every, accept_delay_ms;
	unsigned stop_seconds; /* in which operations may end when the server stops */
	struct settings settings;
};

/* config_defaults: the configuration before anything is set. */
void config_defaults(struct config *config);

/*
 * config_set: set an attribute, or add a value to one that may have several.
 *
 * Returns true; or false, and error[size] says what is wrong and what is accepted.
 */
bool config_set(struct config *config, const char *name, const char *value, char *error,
		size_t size);

/* config_name: the name of attribute number i, NULL after the last; for --help. */
const char *config_name(unsigned i);

#endif /* LDAPD_CONFIG_H */
