/* SPDX-License-Identifier: MIT */
/*
 * Cloning a pblock, by a walk over all parameters. A persistent search clones its pblock once, so
 * cloning need not be fast.
 *
 * First the values are copied to the clone, which can fail. Then the values that move are cleared
 * in the source, which cannot fail.
 */
#include <string.h>

#include "parameter.h"

/* 1: the group's parameters belong to one pblock alone, so they move. The other groups were
 * separate structs, which source and clone shared. */
enum moves {
	PBLOCK_MOVES_top = 0,
	PBLOCK_MOVES_callback = 0,
	PBLOCK_MOVES_plugin = 0,
	PBLOCK_MOVES_op = 0,
	PBLOCK_MOVES_conn = 0,
	PBLOCK_MOVES_backend = 0,
	PBLOCK_MOVES_intop = 1,
	PBLOCK_MOVES_intplugin = 1,
	PBLOCK_MOVES_mr = 1,
	PBLOCK_MOVES_task = 1,
	PBLOCK_MOVES_dse = 1,
	PBLOCK_MOVES_misc = 1,
	PBLOCK_MOVES_deprecated = 1,
};

const struct pblock_parameter pblock_parameters[] = {
#define PBLOCK_PART(part)
#define PBLOCK_END(part)
#define PBLOCK_PARAMETER(number, name, kind, group, part, preset)                                  \
	{number, PBLOCK_##kind, PBLOCK_MOVES_##group || PBLOCK_##kind >= PBLOCK_OWNED},
#include "parameters.def"
#undef PBLOCK_PARAMETER
};
const unsigned pblock_parameter_count = sizeof(pblock_parameters) / sizeof(pblock_parameters[0]);

/* The numbers of the public header and those of the list are the same. */
#define PBLOCK_PARAMETER(number, name, kind, group, part, preset)                                  \
	_Static_assert(SLAPI_##name == (number), "SLAPI_" #name);
#include "parameters.def"

static size_t stored_size(enum pblock_kind kind)
{
	if (kind == PBLOCK_INT || kind == PBLOCK_PRESET)
		return sizeof(int);
	return kind == PBLOCK_ADDRESS ? sizeof(struct slapi_pblock_address) : sizeof(void *);
}

static bool is_zero(const char *stored, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (stored[i])
			return false;
	return true;
}

/* Copy a value that is not the default; false: no memory. */
static bool copy_stored(Slapi_PBlock *to, Slapi_PBlock *from, const struct pblock_parameter *what)
{
	size_t size = stored_size(what->kind);
	const void *stored = pblock_stored(from, what->number);

	if (!stored || is_zero(stored, size))
		return true;
	void *copy = pblock_stored_or_new(to, what->number);

	if (copy)
		memcpy(copy, stored, size);
	return copy;
}

static void forget(Slapi_PBlock *pb, const struct pblock_parameter *what)
{
	void *stored = pblock_stored(pb, what->number);

	if (stored)
		memset(stored, 0, stored_size(what->kind));
}

Slapi_PBlock *slapi_pblock_clone(Slapi_PBlock *pb)
{
	Slapi_PBlock *clone = pb ? pblock_make() : NULL;
	bool complete = clone;

	for (unsigned i = 0; complete && i < pblock_parameter_count; i++)
		complete = copy_stored(clone, pb, &pblock_parameters[i]);
	/* Only one pblock may own a value: the clone, or after a failure the source. */
	for (unsigned i = 0; clone && i < pblock_parameter_count; i++)
		if (pblock_parameters[i].moves)
			forget(complete ? pb : clone, &pblock_parameters[i]);
	if (clone && !complete) {
		slapi_pblock_destroy(clone);
		return NULL;
	}
	if (clone && pblock_is_recording())
		pblock_record(CALL_CLONE, pb, (uintptr_t)clone);
	return clone;
}
