/* SPDX-License-Identifier: MIT */
/* The configuration: options of the command line. ldapd(1) describes them. */
#pragma once

#include "backend/backend.h"
#include "base/log.h"
#include "net/net.h"
#include "ops/server.h"

#define CONFIG_TEXT_MAX 256

struct config {
	const char *ldif; /* load this file; NULL: none */
	bool packages; /* load the machine's package catalogue */
	enum net_form form;
	unsigned threads;
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

/* config_parse: defaults and options into config. Returns -1: go on; otherwise the exit status,
 * after a message or the help. */
int config_parse(struct config *config, int argc, char **argv);
