/* SPDX-License-Identifier: MIT */
/* The results of operations, and the deletes that successful adds owe. */
#include "load.h"

#include <ldap.h>
#include <stdlib.h>

static void owe(struct worker *worker, uint64_t number)
{
	if (worker->owed_count == worker->owed_capacity) {
		size_t capacity = worker->owed_capacity * 2 + 16;
		uint64_t *owed = realloc(worker->owed, capacity * sizeof(*owed));

		if (!owed)
			load_fail("there is no memory for %zu numbers", capacity);
		worker->owed = owed;
		worker->owed_capacity = capacity;
	}
	worker->owed[worker->owed_count++] = number;
}

static bool is_search(enum kind kind)
{
	return kind == KIND_SEARCH || kind == KIND_OR || kind == KIND_BASE;
}

static void count(struct worker *worker, const struct flight *flight, uint64_t now_ns)
{
	struct tally *tally = &worker->tally;
	uint64_t took = now_ns > flight->started_ns ? now_ns - flight->started_ns : 0;

	histogram_add(&tally->latency[flight->kind], took);
	tally->in_time[flight->kind] += now_ns <= worker->load->end_ns;
	tally->entries[flight->kind] += flight->entries;
	tally->last_ns = now_ns;
}

void operation_answered(struct session *session, struct flight *flight, const struct answer *answer,
			uint64_t now_ns)
{
	struct worker *worker = session->worker;
	int code = answer->code;
	bool good;

	if (code == LDAP_SUCCESS && is_search(flight->kind) && flight->entries == 0)
		code = CODE_EMPTY;
	good = tally_accept(&worker->load->args->accepted, flight->kind, code);
	tally_outcome(&worker->tally, flight->kind, code, !good, 1, answer->text.bv_val,
		      answer->text.bv_len);
	if (flight->kind == KIND_ADD && code == LDAP_SUCCESS)
		owe(worker, flight->number);
	if (good && flight->measured)
		count(worker, flight, now_ns);
	atomic_fetch_add_explicit(&worker->tally.done, 1, memory_order_relaxed);
	*flight = session->flights[--session->flying];
	worker->flying--;
}
