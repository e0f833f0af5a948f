/* SPDX-License-Identifier: MIT */
/*
 * symbolize(): ask the dynamic linker first, then slab-symbolize, and remember
 * what it said, so that a storm of reports does not start a program for each.
 *
 * The memory of answers has one lock. It is taken with all signals blocked: no
 * handler can find it held by the thread that it interrupted. Its value is the
 * process that holds it: after a fork, one that was held in the parent is free.
 */
#define _GNU_SOURCE
#include "base/signals.h"
#include "report/symbol_internal.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEADLINE_MS 10000
/* After slab-symbolize failed, for so long it is not tried again. */
#define REST_MS 30000

#define REMEMBERED_SHIFT 10

struct remembered {
	_Atomic(const void *) frame;
	char text[SYMBOL_TEXT];
};

static struct remembered memory[1u << REMEMBERED_SHIFT];
static atomic_int holder;
static uint64_t rest_until;
static const char *other_program;
static unsigned other_deadline_ms;

uint64_t symbol_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool lock_memory(uint64_t deadline)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	const int self = getpid();

	for (;;) {
		int found = 0;

		if (atomic_compare_exchange_strong(&holder, &found, self))
			return true;
		if (found != self && atomic_compare_exchange_strong(&holder, &found, self))
			return true;
		if (symbol_now() >= deadline)
			return false;
		/* nanosleep() could be where the thread gets cancelled. */
		syscall(SYS_nanosleep, &pause, NULL);
	}
}

static void unlock_memory(void)
{
	atomic_store(&holder, 0);
}

static struct remembered *memory_of(const void *frame)
{
	uint64_t hash = (uintptr_t)frame * 0x9e3779b97f4a7c15u;

	return &memory[hash >> (64 - REMEMBERED_SHIFT)];
}

static bool recall(const void *frame, char *text)
{
	struct remembered *entry = memory_of(frame);

	if (atomic_load(&entry->frame) != frame || !frame)
		return false;
	memcpy(text, entry->text, sizeof(entry->text));
	return true;
}

/* A fork by another thread, at any moment, copies an entry that is whole or empty. */
static void remember(const void *frame, const char *text)
{
	struct remembered *entry = memory_of(frame);

	atomic_store(&entry->frame, NULL);
	memcpy(entry->text, text, sizeof(entry->text));
	atomic_store(&entry->frame, frame);
}

static void ask(unsigned n, struct symbol_query *queries, uint64_t deadline)
{
	uint64_t now = symbol_now();

	if (n == 0 || now >= deadline || now < rest_until)
		return;
	if (!symbol_ask(n, queries, other_program, deadline))
		rest_until = symbol_now() + REST_MS;
	for (unsigned i = 0; i < n; i++) {
		if (queries[i].answered)
			remember(queries[i].frame, queries[i].text);
	}
}

/* At most SYMBOL_BATCH addresses, with the lock. */
static void look_up(unsigned n, const void *const *frames, char (*text)[SYMBOL_TEXT],
		    uint64_t deadline)
{
	struct symbol_query queries[SYMBOL_BATCH];
	unsigned count = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!recall(frames[i], text[i]) && symbol_describe(frames[i], text[i]))
			queries[count++] = (struct symbol_query){frames[i], text[i], false};
	}
	ask(count, queries, deadline);
}

void symbolize(unsigned n, const void *const *frames, char (*text)[SYMBOL_TEXT])
{
	const int saved_errno = errno;
	const uint64_t mask = signals_block();
	const uint64_t deadline =
		symbol_now() + (other_deadline_ms ? other_deadline_ms : DEADLINE_MS);

	if (lock_memory(deadline)) {
		for (unsigned i = 0; i < n; i += SYMBOL_BATCH)
			look_up(n - i < SYMBOL_BATCH ? n - i : SYMBOL_BATCH, frames + i, text + i,
				deadline);
		unlock_memory();
	} else {
		for (unsigned i = 0; i < n; i++)
			symbol_describe(frames[i], text[i]);
	}
	signals_restore(mask);
	errno = saved_errno;
}

void symbol_use(const char *program, unsigned deadline_ms)
{
	other_program = program;
	other_deadline_ms = deadline_ms;
	rest_until = 0;
	for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
		atomic_store(&memory[i].frame, NULL);
}
