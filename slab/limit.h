/* SPDX-License-Identifier: MIT */
/*
 * Limits: how many bytes of slabs a cache may have.
 *
 * A slab's bytes are reserved before it is taken from the page layer, and released
 * after it was given back, so that all slabs of a cache together never exceed its
 * limit: with and without letters, draining, guarded (64 KiB each, also while it
 * waits after its free). All caches keep this account, since a limit may come at
 * any time. One that is set below what is in use takes nothing away; nothing is
 * added until enough was given back.
 */
#ifndef SLAB_LIMIT_H
#define SLAB_LIMIT_H

#include "slab_internal.h"

/* Account for a slab that is about to be taken; false and ENOMEM: the limit. */
bool limit_reserve(struct slab_cache *cache, size_t bytes);
/* … that was given back. */
void limit_release(struct slab_cache *cache, size_t bytes);

/*
 * limit_regain: an allocation failed, and the cache has a limit: take back what
 * other CPUs and the guard pages hold free. false: there is no limit, or somebody
 * holds the cache's flush_lock for long. With no lock held but flush_lock.
 */
bool limit_regain(struct slab_cache *cache);
/* So often is an allocation tried again: others may take what was regained. */
#define LIMIT_TRIES 3

#endif /* SLAB_LIMIT_H */
