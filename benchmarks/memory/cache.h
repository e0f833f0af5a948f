/* SPDX-License-Identifier: MIT */
/*
 * The entry cache of a directory server: records by id. When their bytes exceed the
 * budget, the least recently used ones are evicted. A reader pins a record; the last
 * thread that unpins an evicted record frees it.
 */
#pragma once

#include "record.h"

/* cache_begin: for ids 0 to ids - 1, `budget` requested bytes, and this number of threads. */
void cache_begin(unsigned ids, size_t budget, unsigned threads);
/* cache_get: the record of id, pinned; it is loaded, with this photo, when it is not there. */
struct record *cache_get(unsigned id, enum photo photo);
void cache_put(struct record *record);
/* cache_replace: a new record of id takes the place of the one that is there, if any. */
void cache_replace(unsigned id, enum photo photo);
/* cache_remove: id is deleted. */
void cache_remove(unsigned id);
