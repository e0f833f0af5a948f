/* SPDX-License-Identifier: MIT */
/*
 * What the parts of symbolize() know of each other: symbol.c remembers answers,
 * symbol_object.c asks the dynamic linker, symbol_helper.c runs slab-symbolize.
 */
#ifndef SLAB_SYMBOL_INTERNAL_H
#define SLAB_SYMBOL_INTERNAL_H

#include "report/symbol.h"

/* Addresses for one run of slab-symbolize. */
#define SYMBOL_BATCH 64

struct symbol_query {
	const void *frame;
	char *text;    /* SYMBOL_TEXT bytes; as it was when there is nothing better */
	bool answered; /* slab-symbolize looked it up */
};

/* symbol_describe: what the dynamic linker knows of a return address. True: a
 * file may tell more. */
bool symbol_describe(const void *frame, char *text);

/*
 * symbol_ask: have slab-symbolize look up n <= SYMBOL_BATCH addresses. Returns
 * whether it answered all of them before the deadline, of the clock of
 * symbol_now(). program: NULL, or the one to use in its place. All signals must
 * be blocked.
 */
bool symbol_ask(unsigned n, struct symbol_query *queries, const char *program, uint64_t deadline);

/* Milliseconds of the monotonic clock. */
uint64_t symbol_now(void);

#endif /* SLAB_SYMBOL_INTERNAL_H */
