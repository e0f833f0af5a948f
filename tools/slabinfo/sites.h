/* SPDX-License-Identifier: MIT */
/* Call sites, from the answer to "traces", and printing them. */
#pragma once

#include "attach.h"
#include "model.h"
#include "symbolizer.h"

/* All objects of one cache with one stack. */
struct site {
	const struct cache *cache;
	struct json_object *json;
	uint64_t count;
	uint64_t bytes; /* of these objects */
};

struct site_list {
	struct site *sites;
	size_t count, capacity;
	struct json_object *answers; /* which the sites are in */
	uint64_t objects, bytes;     /* of all of them */
	size_t tracked;              /* caches that could be queried */
};

/*
 * sites_query: query the call sites of caches, kind "allocated" or "freed", younger than a mark
 * (0: all). Returns an array with the answer for each cache, null for one that the process
 * destroyed; NULL after an error message. sites_add: add those of a cache; false after an error
 * message.
 */
struct json_object *sites_query(struct process *process, const struct model *model,
				const char *kind, uint64_t since);
bool sites_add(struct site_list *list, const struct cache *cache, struct json_object *traces);
void sites_free(struct site_list *list);

/* sites_sort: the most objects first. */
void sites_sort(struct site_list *list);

/* symbols_open: NULL after an error message: no memory. */
struct symbolizer *symbols_open(void);
void symbols_close(struct symbolizer *symbolizer);

/* site_symbol: what the caller of libslab is, as "entry_new+0x1c (entry.c:123)", as file and offset
 * or as a number if the symbol is unknown; "?": there is none. Of inlined code, the innermost. */
#define SITE_TEXT 512
const char *site_symbol(struct symbolizer *symbolizer, const struct site *site,
			char text[SITE_TEXT]);

/* code_text: "libentry.so+0x1c", code whose function is not known. */
char *code_text(char text[SITE_TEXT], const char *file, uint64_t offset);

/* site_print_stack: the functions of the stack but for the innermost `skip`, a line each. */
void site_print_stack(struct symbolizer *symbolizer, const struct site *site, size_t skip);

/* site_add_symbols: add a "symbol" to each address, and "inlined_in" to inlined code. */
void site_add_symbols(struct symbolizer *symbolizer, const struct site *site);

/* sites_print_json: the process's answers, with a "symbol" for each address. */
void sites_print_json(struct symbolizer *symbolizer, const struct site_list *list);

/* A time in short form: "350ms", "12.3s", "5m12s", "3h05m", "2d04h". */
#define AGE_TEXT 32
const char *age_text(char text[AGE_TEXT], uint64_t ms);
