/* SPDX-License-Identifier: MIT */
/* The memory of a process in which a search for pointers begins: all that it can write to, but not the
 * memory of libslab, and not the unused part of stacks. */
#pragma once

#include "memory.h"

#include <json-c/json.h>

struct root_visitor {
	void (*words)(const uint64_t *words, size_t count, void *arg); /* registers */
	void (*range)(uint64_t start, uint64_t end, void *arg);
	void *arg;
};

/* roots_visit: call the visitor for all roots; `regions` is the answer to "regions". false after an
 * error message. */
bool roots_visit(struct memory *memory, struct json_object *regions,
		 const struct root_visitor *visitor);
