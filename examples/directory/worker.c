/* SPDX-License-Identifier: MIT */
/* Workers: execute operations and send them back. */
#include "traffic.h"

#include <time.h>

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* One term of a filter. As servers do, it gets a pblock of its own for the
 * plugin that knows the syntax: these live and die on this thread. */
static void search_term(struct tree *tree, struct operation *operation, struct value *term)
{
	struct pblock *pblock = memory_new_pblock();

	pblock->parameter[PB_OPERATION] = (uintptr_t)operation;
	pblock->parameter[PB_MATCH] = (uintptr_t)term;
	pblock->parameter[PB_RESULT_ENTRIES] = tree_by_name(tree, term, &operation->results);
	operation->result_entries += (uint32_t)pblock->parameter[PB_RESULT_ENTRIES];
	memory_free_pblock(pblock);
	spill(operation->results);
}

static void delete_entry(struct tree *tree, struct operation *operation)
{
	struct value *name = dn_name(operation->target);
	struct entry *entry = tree_remove(tree, operation->target, name);

	value_drop(name);
	if (entry)
		entry_drop(entry);
	else
		operation->result_code = RESULT_NO_SUCH_OBJECT;
}

static void execute(struct tree *tree, struct operation *operation)
{
	switch (operation->kind) {
	case KIND_SEARCH:
	case KIND_OR:
		for (struct value *term = operation->filter; term; term = term->next)
			search_term(tree, operation, term);
		break;
	case KIND_BASE:
		operation->result_entries =
			tree_by_dn(tree, operation->target, &operation->results);
		break;
	case KIND_MODIFY:
		if (!tree_replace(tree, operation->target, operation->change, operation->id))
			operation->result_code = RESULT_NO_SUCH_OBJECT;
		break;
	case KIND_ADD:
		if (tree_add(tree, operation->entry))
			operation->entry = NULL;
		else
			operation->result_code = RESULT_ALREADY_EXISTS;
		break;
	default:
		delete_entry(tree, operation);
	}
	operation->pblock->parameter[PB_RESULT_CODE] = operation->result_code;
	operation->pblock->parameter[PB_RESULT_ENTRIES] = operation->result_entries;
}

/* Send a batch back: runs of the same listener's operations in one go. */
static void send_back(struct traffic *traffic, struct operation **batch, size_t count)
{
	for (size_t from = 0, to; from < count; from = to) {
		unsigned listener = batch[from]->listener;

		to = from + 1;
		while (to < count && batch[to]->listener == listener)
			to++;
		ring_push(&traffic->listeners[listener].returned, batch + from, to - from);
	}
}

void *worker_run(void *arg)
{
	struct worker *worker = arg;
	struct traffic *traffic = worker->traffic;
	struct operation *batch[BATCH];
	size_t count;

	while ((count = ring_pop(&worker->inbox, batch, BATCH)) != 0) {
		uint64_t started = now_ns();

		for (size_t i = 0; i < count; i++) {
			_Atomic uint64_t *done = &worker->done[batch[i]->kind];
			uint64_t ended;

			execute(traffic->directory->tree, batch[i]);
			ended = now_ns();
			histogram_add(&worker->latency, ended - started);
			started = ended;
			/* This thread alone writes it. */
			atomic_store_explicit(done,
					      atomic_load_explicit(done, memory_order_relaxed) + 1,
					      memory_order_relaxed);
		}
		send_back(traffic, batch, count);
	}
	return NULL;
}
