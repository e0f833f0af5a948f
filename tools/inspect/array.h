/* SPDX-License-Identifier: MIT */
/* Arrays that grow. */
#pragma once

#include "posix.h"

#define ARRAY_ROOM_FIRST 64

/* The array, with room for one more element: moved to twice the room if it is full. NULL: no
 * memory, and the array stays as it is. */
static inline void *array_with_room(void *array, size_t count, size_t *room, size_t size)
{
	const size_t larger = *room ? *room * 2 : ARRAY_ROOM_FIRST;

	if (count < *room)
		return array;
	array = reallocarray(array, larger, size);
	if (array)
		*room = larger;
	return array;
}
