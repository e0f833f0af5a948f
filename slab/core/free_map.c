/* SPDX-License-Identifier: MIT */
#include "core/free_map.h"

#include <pthread.h>

static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t free_map[SLAB_MAP_WORDS];

uint64_t *free_map_lock(void)
{
	pthread_mutex_lock(&map_lock);
	return free_map;
}

void free_map_unlock(void)
{
	pthread_mutex_unlock(&map_lock);
}
