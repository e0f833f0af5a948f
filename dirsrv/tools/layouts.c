/* SPDX-License-Identifier: MIT */
/* The bytes of a pblock in the layouts of layouts.h. */
#include "layouts.h"

#define FLAT_SIZE 712
#define OUR_TOP 64
#define OUR_POINTERS 96 /* bytes of the part `rare`, which has the pointers to other parts */

const char *layout_name(enum layout layout)
{
	static const char *const names[LAYOUTS] = {"flat", "proposed", "libslab"};

	return names[layout];
}

/* The bytes of all parameters of a group that is a separate struct; 0: it is in the flat one. */
static size_t group_size(enum group group)
{
	size_t size = 0;

	if (group != GROUP_callback && group != GROUP_plugin && group != GROUP_op &&
	    group != GROUP_conn && group != GROUP_backend)
		return 0;
	for (size_t i = 0; i < parameters_count; i++)
		size += parameters[i].group == group ? parameters[i].size : 0;
	return (size + POINTER_SIZE - 1) / POINTER_SIZE * POINTER_SIZE;
}

static size_t flat_bytes(const struct life *life)
{
	size_t bytes = FLAT_SIZE;
	unsigned there = 0;

	for (size_t i = 0; i < life->count; i++) {
		const struct parameter *parameter = life->uses[i].parameter;

		if (!life->uses[i].sets || there >> parameter->group & 1)
			continue;
		bytes += group_size(parameter->group);
		there |= 1U << parameter->group;
	}
	return bytes;
}

static size_t proposed_bytes(const struct study *study, const struct life *life)
{
	size_t bytes = 0;

	for (size_t c = 0; c < study->clump_count; c++) {
		if (study->clumps[c].size)
			bytes += POINTER_SIZE;
		if (sets_clump(study, life, c))
			bytes += study->clumps[c].size;
	}
	return bytes;
}

/* The bytes of a part: its values follow each other without padding. */
static size_t part_size(unsigned part)
{
	size_t size = 0;

	for (size_t i = 0; i < parameters_count; i++)
		size += parameters[i].part == part ? parameters[i].size : 0;
	return size;
}

static size_t our_bytes(const struct life *life)
{
	size_t bytes = OUR_TOP;
	uint64_t there = UINT64_C(1) << PART_top;

	for (size_t i = 0; i < life->count; i++) {
		const struct parameter *parameter = life->uses[i].parameter;

		if (!life->uses[i].sets || there >> parameter->part & 1)
			continue;
		if (parameter->part >= PART_FIRST_RARE && !(there >> PART_FIRST_RARE))
			bytes += OUR_POINTERS;
		bytes += part_size(parameter->part);
		there |= UINT64_C(1) << parameter->part;
	}
	return bytes;
}

double layout_bytes(const struct study *study, enum layout layout)
{
	const struct workload *workload = study->workload;
	double bytes = 0;

	for (size_t i = 0; i < workload->count; i++) {
		const struct life *life = &workload->lives[i];
		size_t one = layout == LAYOUT_FLAT       ? flat_bytes(life)
			     : layout == LAYOUT_PROPOSED ? proposed_bytes(study, life)
							 : our_bytes(life);

		bytes += (double)one * (double)life->pblocks;
	}
	return workload->pblocks ? bytes / (double)workload->pblocks : 0;
}
