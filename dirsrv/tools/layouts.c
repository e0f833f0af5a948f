/* SPDX-License-Identifier: MIT */
/* The bytes of a pblock in the layouts of layouts.h. */
#include "layouts.h"

#define FLAT_SIZE 712
#define TODAY_TOP 88
#define OUR_TOP 64
#define OUR_POINTERS 96 /* bytes of the part `rare`, which has the pointers to other parts */

/* The bytes of the sub-structs of 389-ds; the other groups are separate structs in both layouts. */
static const size_t today_sizes[GROUPS] = {
	[GROUP_intop] = 200, [GROUP_intplugin] = 72, [GROUP_misc] = 24,       [GROUP_task] = 152,
	[GROUP_mr] = 96,     [GROUP_dse] = 24,       [GROUP_deprecated] = 88,
};

const char *layout_name(enum layout layout)
{
	static const char *const names[LAYOUTS] = {"flat", "389-ds", "proposed", "ideal",
						   "libslab"};

	return names[layout];
}

/* The bytes of all parameters of a separate struct. */
static size_t group_size(enum group group)
{
	size_t size = 0;

	for (size_t i = 0; i < parameters_count; i++)
		size += parameters[i].group == group ? parameters[i].size : 0;
	return (size + POINTER_SIZE - 1) / POINTER_SIZE * POINTER_SIZE;
}

/* Mark the groups of which a parameter is set. Unknown parameters have no group. */
static void mark_groups(const struct study *study, const struct kind_of_life *kind,
			bool ret_set[GROUPS])
{
	for (size_t i = 0; i < kind->count; i++) {
		const struct subject *subject =
			&study->subjects[study_find(study, kind->uses[i].number)];

		if (kind->uses[i].sets && subject->parameter)
			ret_set[subject->parameter->group] = true;
	}
}

static size_t grouped_bytes(const struct study *study, const struct kind_of_life *kind,
			    bool is_flat)
{
	size_t bytes = is_flat ? FLAT_SIZE : TODAY_TOP;
	bool set[GROUPS] = {false};

	mark_groups(study, kind, set);
	for (enum group group = 0; group < GROUPS; group++) {
		if (!set[group] || group == GROUP_top)
			continue;
		if (!today_sizes[group])
			bytes += group_size(group);
		else if (!is_flat)
			bytes += today_sizes[group];
	}
	return bytes;
}

static bool has_clump(const struct study *study, const struct kind_of_life *kind, size_t clump)
{
	for (size_t i = 0; i < kind->count; i++) {
		size_t subject = study_find(study, kind->uses[i].number);

		if (kind->uses[i].sets && study->subjects[subject].clump == clump)
			return true;
	}
	return false;
}

static size_t proposed_bytes(const struct study *study, const struct kind_of_life *kind)
{
	size_t bytes = study->top_size;

	for (size_t c = 0; c < study->clump_count; c++) {
		if (!study->clumps[c].in_top && has_clump(study, kind, c))
			bytes += study->clumps[c].size;
	}
	return bytes;
}

static size_t ideal_bytes(const struct study *study, const struct kind_of_life *kind)
{
	size_t bytes = POINTER_SIZE;

	for (size_t i = 0; i < kind->count; i++) {
		if (kind->uses[i].sets)
			bytes += size_of_subject(
				&study->subjects[study_find(study, kind->uses[i].number)]);
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

static size_t our_bytes(const struct study *study, const struct kind_of_life *kind)
{
	size_t bytes = OUR_TOP;
	uint64_t there = UINT64_C(1) << PART_top;

	for (size_t i = 0; i < kind->count; i++) {
		size_t subject = study_find(study, kind->uses[i].number);
		const struct parameter *parameter = study->subjects[subject].parameter;

		if (!kind->uses[i].sets || !parameter || there >> parameter->part & 1)
			continue;
		if (parameter->part >= PART_FIRST_RARE && !(there >> PART_FIRST_RARE))
			bytes += OUR_POINTERS;
		bytes += part_size(parameter->part);
		there |= UINT64_C(1) << parameter->part;
	}
	return bytes;
}

size_t kind_bytes(const struct study *study, const struct kind_of_life *kind, enum layout layout)
{
	switch (layout) {
	case LAYOUT_PROPOSED:
		return proposed_bytes(study, kind);
	case LAYOUT_IDEAL:
		return ideal_bytes(study, kind);
	case LAYOUT_OURS:
		return our_bytes(study, kind);
	default:
		return grouped_bytes(study, kind, layout == LAYOUT_FLAT);
	}
}

double workload_bytes(const struct study *study, const struct workload *workload,
		      enum layout layout)
{
	double bytes = 0;

	for (size_t k = 0; k < workload->count; k++) {
		const struct kind_of_life *kind = &workload->kinds[k];

		if (kind->whole)
			bytes += (double)kind_bytes(study, kind, layout) * (double)kind->pblocks;
	}
	return workload->pblocks ? bytes / (double)workload->pblocks : 0;
}
