/* SPDX-License-Identifier: MIT */
/*
 * Data that any thread reads without a lock while another thread replaces it: a handler with its
 * argument, or settings. A fork finds no lock held, and no reader sees half of a change.
 *
 * A writer fills the next slot of a ring and publishes it by one store. The slot is reused after
 * PUBLISH_SLOTS replacements, so a reader must have used its data by then.
 */
#ifndef SLAB_PUBLISH_H
#define SLAB_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>

#define PUBLISH_SLOTS 16

/* The slot for the next replacement. *changes counts the replacements. */
static inline unsigned publish_slot(unsigned *changes)
{
	return __atomic_fetch_add(changes, 1, __ATOMIC_RELAXED) % PUBLISH_SLOTS;
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
	struct handler *current;
	unsigned changes;
};

/* handler_set: replace the handler. fn NULL: no handler from now on. */
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

/* handler_get: read the handler. false: there is none. */
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
