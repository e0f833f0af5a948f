/* SPDX-License-Identifier: MIT */
/* What happens when an allocation that must not fail finds no memory (<slab/nofail.h>). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* An allocation that must not fail. */
struct need {
	const char *function; /* the public function */
	const char *cache;    /* name; NULL: memory by size */
	size_t n, size;       /* n * size bytes; n is 0 if the function has no such argument */
	unsigned long tries;
	int errno_before;
};

/*
 * need_handler: the allocation has failed with ENOMEM. Call the handler. true: try again, errno is
 * as before the allocation. false: there is no handler, or it gave up.
 */
bool need_handler(struct need *need);
/* need_again: the allocation has failed with any errno. Call the handler, or end the process.
 * Returns to try again. */
void need_again(struct need *need);
