/* SPDX-License-Identifier: MIT */
/* Errors on purpose, which the oracle must see: one error, once, with an object of the kind that
 * suits it. */
#pragma once

#include "oracle.h"

namespace soak
{

enum plant {
	NOTHING,
	DOUBLED,       /* an object that has an owner is allocated again */
	LOST,          /* an object is not freed */
	DAMAGED,       /* a bit of an object in use changes */
	EMPTIED,       /* a page of an object in use loses its contents */
	FAILED,        /* an allocation fails, although there is memory */
	UNCONSTRUCTED, /* an object is not in its constructed state */
	POINT,         /* a call is a cancellation point */
	HALTED,        /* a child of a fork does not end well */
};

extern std::atomic<unsigned> planted;

inline bool plants_now()
{
	return __builtin_expect(planted.load(std::memory_order_relaxed) != NOTHING, 0);
}

/* Make this error with the next object that suits it. */
void plant_error(enum plant what);

/* Is this error to be made now, with an object of this kind? true once. */
bool is_planted(enum plant what, unsigned kind);

/* An object that has an owner, or NULL. */
void *planted_object(unsigned kind);

/* NULL instead of the object, which is freed. */
void *plant_failure(void *obj, unsigned kind);

/* Before and after the caller claims the object. */
void plant_before(const held &object);
void plant_after(const held &object);

} /* namespace soak */
