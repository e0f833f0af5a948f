/* SPDX-License-Identifier: MIT */
/* The kinds of operations, and the mix in which connections send them. */
#ifndef LDAPLOAD_KIND_H
#define LDAPLOAD_KIND_H

#include <stddef.h>
#include <stdint.h>

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

#endif /* LDAPLOAD_KIND_H */
