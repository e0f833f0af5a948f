/* SPDX-License-Identifier: MIT */
/* Counting by kind and by result code. */
#include "tally.h"

#include <ldap.h>
#include <string.h>

bool tally_accept(const struct accepted *accepted, enum kind kind, int code)
{
	if (code == (kind == KIND_COMPARE ? LDAP_COMPARE_TRUE : LDAP_SUCCESS))
		return true;
	for (unsigned i = 0; i < accepted->count; i++)
		if (accepted->codes[i] == code)
			return true;
	return false;
}

/* The outcome of that kind and code; a new one if there is room, otherwise the last one. */
static struct outcome *outcome_of(struct tally *tally, enum kind kind, int code)
{
	struct outcome *outcome = tally->outcomes;

	for (; outcome < tally->outcomes + tally->outcome_count; outcome++)
		if (outcome->kind == kind && outcome->code == code)
			return outcome;
	if (tally->outcome_count == OUTCOMES_MAX)
		return outcome - 1;
	tally->outcome_count++;
	*outcome = (struct outcome){.kind = kind, .code = code};
	return outcome;
}

void tally_outcome(struct tally *tally, enum kind kind, int code, bool unexpected, uint64_t count,
		   const char *text, size_t length)
{
	struct outcome *outcome = outcome_of(tally, kind, code);

	outcome->count += count;
	outcome->unexpected |= unexpected;
	if (text && length > 0 && !*outcome->text) {
		length = length < TEXT_MAX ? length : TEXT_MAX - 1;
		memcpy(outcome->text, text, length);
		outcome->text[length] = '\0';
	}
	if (unexpected)
		atomic_fetch_add_explicit(&tally->unexpected, count, memory_order_relaxed);
}

void tally_merge(struct tally *tally, const struct tally *from)
{
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		histogram_merge(&tally->latency[kind], &from->latency[kind]);
		tally->in_time[kind] += from->in_time[kind];
		tally->entries[kind] += from->entries[kind];
	}
	if (from->last_ns > tally->last_ns)
		tally->last_ns = from->last_ns;
	for (unsigned i = 0; i < from->outcome_count; i++) {
		const struct outcome *outcome = &from->outcomes[i];

		tally_outcome(tally, outcome->kind, outcome->code, outcome->unexpected,
			      outcome->count, outcome->text, strlen(outcome->text));
	}
}

const char *tally_code_name(int code)
{
	switch (code) {
	case CODE_EMPTY:
		return "no entry found";
	case LDAP_SERVER_DOWN:
		return "connection lost";
	case LDAP_TIMEOUT:
		return "no answer in time";
	case LDAP_CONNECT_ERROR:
		return "cannot connect";
	case LDAP_DECODING_ERROR:
		return "malformed answer";
	default:
		return ldap_err2string(code);
	}
}
