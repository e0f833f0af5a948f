/* SPDX-License-Identifier: MIT */
/*
 * Data that any thread reads without a lock while another thread replaces it: a handler with its
 * argument, or settings. No reader sees half of a change or waits for a writer.
 *
 * Replacements are numbered, and a ring has the last PUBLISH_SLOTS of them. A writer, one at a
 * time, says that it begins, fills in the next slot, and publishes its number. A reader uses what
 * it has read from the slot of the published number only if no writer has begun to reuse that slot.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PUBLISH_SLOTS 2u

/* The numbers of replacements. All zero: nothing has been published. */
struct published {
	uint64_t begun, current;
};

/* One lock for the writers of all rings. A thread that holds it takes no other lock; a fork holds
 * it. */
void publish_lock(void);
void publish_unlock(void);

/* Under the lock: begin a replacement. Returns its slot. */
static inline unsigned publish_begin(struct published *published)
{
	const uint64_t number = published->begun + 1;

	__atomic_store_n(&published->begun, number, __ATOMIC_RELAXED);
	__sync_synchronize(); /* before the first write to the slot */
	return number % PUBLISH_SLOTS;
}

static inline void publish_end(struct published *published)
{
	__atomic_store_n(&published->current, published->begun, __ATOMIC_RELEASE);
}

/* The number whose slot a reader reads. 0: nothing has been published. */
static inline uint64_t publish_current(const struct published *published)
{
	return __atomic_load_n(&published->current, __ATOMIC_ACQUIRE);
}

/* Is what was read from the slot of this number whole? If not, the reader begins again. */
static inline bool publish_was_whole(const struct published *published, uint64_t number)
{
	__sync_synchronize(); /* after the last read of the slot */
	return __atomic_load_n(&published->begun, __ATOMIC_RELAXED) - number < PUBLISH_SLOTS;
}

/* --- handlers ----------------------------------------------------------------------- */

/* A handler of any type; its caller converts it back. */
typedef void (*handler_fn)(void);

struct handler {
	handler_fn fn;
	void *arg;
};

/* All zero: no handler. */
struct handler_ring {
	struct handler slot[PUBLISH_SLOTS];
	struct published published;
};

/* handler_set: replace the handler. fn NULL: no handler from now on. */
void handler_set(struct handler_ring *ring, handler_fn fn, void *arg);
/* handler_get: read the handler. false: there is none. */
bool handler_get(const struct handler_ring *ring, struct handler *ret_handler);
