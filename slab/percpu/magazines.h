/* SPDX-License-Identifier: MIT */
/*
 * Magazines: how free objects get from a CPU that mostly frees to a CPU that mostly allocates,
 * without a visit to their slabs.
 *
 * A magazine is an array of free objects, half of a full LIFO. A CPU whose LIFO is full moves half
 * of the LIFO's present length, the newest objects, into a magazine of its node; a CPU whose LIFO and
 * current slab are exhausted moves one magazine into its LIFO. Each node has MAGAZINES_MAX. If all
 * are full, freed objects go to their slabs; if all are empty, allocations get slabs. So half a LIFO
 * changes CPUs in two sections, each under the node's lock; without magazines each object would cost
 * an exchange on its slab. After Bonwick and Adams, "Magazines and Vmem" (USENIX 2001), whose depot
 * this is, bounded and per node. Magazines differ in size, since the length of LIFOs changes
 * (lifo_length.h); a LIFO of one object fills none.
 *
 * To their slabs, the objects of magazines are in use, as those of LIFOs are; a revocation returns
 * them. The node's lock protects its magazines. A thread that puts or gets one only tries the lock:
 * it does not wait.
 */
#ifndef SLAB_PERCPU_MAGAZINES_H
#define SLAB_PERCPU_MAGAZINES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/cache.h"

/* Move the newer half of this CPU's LIFO to its node. false: the LIFO is not full, the node has no
 * empty magazine, its lock is taken, the slot is closed, or the thread has left the CPU. */
bool magazine_put(struct slab_cache *cache, int cpu);
/* Move a full magazine of this CPU's node to its LIFO. false: there is none, the lock is taken, the
 * LIFO has no room, the slot is closed, or the thread has left the CPU. */
bool magazine_get(struct slab_cache *cache, int cpu);
/* Take up to `most` objects out of a magazine of any node, to return them to their slabs. Returns
 * their number; 0: all magazines are empty. Under flush_lock, so that a fork loses no objects. */
size_t magazine_take(struct slab_cache *cache, size_t most, void **obj);

/* The number of objects in the magazines of all nodes. It may change at any moment. */
static inline size_t magazine_objects(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->in_magazines, __ATOMIC_RELAXED);
}

#endif /* SLAB_PERCPU_MAGAZINES_H */
