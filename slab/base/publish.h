/* SPDX-License-Identifier: MIT */
/*
 * Data that any thread may read without a lock while another thread replaces it: a handler
 * with its argument, settings. A fork finds no lock held, and no reader sees half of a
 * change.
 *
 * Each replacement is written to the next slot of a ring and published by one store. A slot
 * is written again after PUBLISH_SLOTS replacements: a reader has that long to use what it
 * read.
 */
#ifndef SLAB_PUBLISH_H
#define SLAB_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>

#define PUBLISH_SLOTS 16

/* The slot for the next replacement; *changes counts them. */
static inline unsigned publish_slot(unsigned *changes)
{
	return __atomic_fetch_add(changes, 1, __ATOMIC_RELAXED) % PUBLISH_SLOTS;
}

/* --- handlers ----------------------------------------------------------------------- */

/* Of any type: the caller converts it back. */
typedef void (*handler_fn)(void);

struct handler {
	handler_fn fn;
	void *arg;
};

/* All zero: there is none. */
struct handler_ring {
	struct handler slot[PUBLISH_SLOTS];
	struct handler *current;
	unsigned changes;
};

/* handler_set: fn NULL: none from now on. */
static inline void handler_set(struct handler_ring *ring, handler_fn fn, void *arg)
{
	struct handler *slot = NULL;

	if (fn) {
		slot = &ring->slot[publish_slot(&ring->changes)];
		__atomic_store_n(&slot->fn, fn, __ATOMIC_RELAXED);
		__atomic_store_n(&slot->arg, arg, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&ring->current, slot, __ATOMIC_RELEASE);
}

/* handler_get: false: there is none. */
static inline bool handler_get(const struct handler_ring *ring, struct handler *ret_handler)
{
	const struct handler *slot = __atomic_load_n(&ring->current, __ATOMIC_ACQUIRE);

	if (!slot)
		return false;
	ret_handler->fn = __atomic_load_n(&slot->fn, __ATOMIC_RELAXED);
	ret_handler->arg = __atomic_load_n(&slot->arg, __ATOMIC_RELAXED);
	return true;
}

#endif /* SLAB_PUBLISH_H */
