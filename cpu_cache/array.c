/* SPDX-License-Identifier: MIT */
/* One array, in the form of the engine in use. */
#include "engine.h"

static CPU_EARLY bool pairs;

void cpu_arrays_set_form(bool form)
{
	pairs = form;
}

/* With pairs, the newest object lies in no entry. */
unsigned cpu_array_room(bool is_long)
{
	const size_t bytes = (is_long ? CPU_LONG_BYTES : CPU_SHORT_BYTES) - CPU_ARRAY_HEAD;

	return (unsigned)(pairs ? bytes / (2 * sizeof(void *)) + 1 : bytes / sizeof(void *));
}

unsigned cpu_array_count(const struct cpu_array *array)
{
	const uint64_t word = __atomic_load_n(&array->count, __ATOMIC_ACQUIRE);

	return (unsigned)(pairs ? word >> CPU_PAIR_COUNT_SHIFT : word);
}

void *cpu_array_object(const struct cpu_array *array, unsigned i)
{
	const uint64_t word = __atomic_load_n(&array->count, __ATOMIC_ACQUIRE);

	if (!pairs)
		return __atomic_load_n(&array->obj[i], __ATOMIC_RELAXED);
	if (i + 1 == word >> CPU_PAIR_COUNT_SHIFT)
		return (void *)(uintptr_t)(word & CPU_PAIR_OBJECT);
	return __atomic_load_n(&array->obj[2 * (size_t)i], __ATOMIC_RELAXED);
}

unsigned cpu_array_limit(const struct cpu_array *array)
{
	return pairs ? __atomic_load_n(&array->bound, __ATOMIC_RELAXED)
		     : (unsigned)__atomic_load_n(&array->limit, __ATOMIC_RELAXED);
}

void cpu_array_set_limit(struct cpu_array *array, unsigned limit)
{
	if (pairs)
		__atomic_store_n(&array->bound, limit, __ATOMIC_RELAXED);
	else
		__atomic_store_n(&array->limit, limit, __ATOMIC_RELAXED);
}
