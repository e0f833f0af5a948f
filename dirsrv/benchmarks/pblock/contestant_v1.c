/* SPDX-License-Identifier: MIT */
/*
 * The flat pblock: v1.c itself, compiled with the names of rename_v1.h. Each of its parts is
 * a calloc(); recording is off.
 */
#include <malloc.h>

#include "pblock/v1.c" /* NOLINT(bugprone-suspicious-include): see above */

#include "model.h"

uint32_t pblock_recording;

void pblock_record_new(const Slapi_PBlock *pb)
{
	(void)pb;
}

void pblock_record_clone(const Slapi_PBlock *pb, const Slapi_PBlock *clone)
{
	(void)pb;
	(void)clone;
}

void pblock_record_init(const Slapi_PBlock *pb)
{
	(void)pb;
}

void pblock_record_access(const Slapi_PBlock *pb, int parameter, bool set)
{
	(void)pb;
	(void)parameter;
	(void)set;
}

void pblock_record_end(const Slapi_PBlock *pb)
{
	(void)pb;
}

/* --- access by a switch --------------------------------------------------------- */

/* The struct that a parameter is in; NULL: the pblock has none. */
static inline char *part_in(Slapi_PBlock *pb, enum part part)
{
	return part == FLAT ? (char *)pb : pb->flat.part[part];
}

static inline int read_from(const char *stored, enum pblock_kind kind, int number, void *value)
{
	if (kind == PBLOCK_POINTER || kind == PBLOCK_WORD)
		memcpy(value, stored, sizeof(void *));
	else if (kind == PBLOCK_INT)
		memcpy(value, stored, sizeof(int));
	else
		return pblock_value_get(kind, number, stored, value);
	return 0;
}

static inline int write_to(char *stored, enum pblock_kind kind, int number, void *value)
{
	if (kind == PBLOCK_POINTER)
		memcpy(stored, &value, sizeof(value));
	else if (kind == PBLOCK_INT)
		memcpy(stored, value, sizeof(int));
	else
		return pblock_value_set(kind, number, stored, value);
	return 0;
}

#undef PBLOCK_PARAMETER
#define PBLOCK_PARAMETER(number, name, kind, group, part_of_v3, preset)                            \
	case number:                                                                               \
		part = part_in(pb, PART_##group);                                                  \
		return read_from(part ? part + offsetof(STRUCT_OF(PART_##group), name)             \
				      : (const char *)&absent,                                     \
				 PBLOCK_##kind, number, value);

static int switch_get(Slapi_PBlock *pb, int parameter, void *value)
{
	const char *part;

	if (!pb)
		return -1;
	switch (parameter) {
#include "pblock/parameters.def"
	default:
		return -1;
	}
}

#undef PBLOCK_PARAMETER
#define PBLOCK_PARAMETER(number, name, kind, group, part_of_v3, preset)                            \
	case number:                                                                               \
		part = part_in(pb, PART_##group);                                                  \
		if (!part)                                                                         \
			return set_slow(pb, number, value);                                        \
		return write_to(part + offsetof(STRUCT_OF(PART_##group), name), PBLOCK_##kind,     \
				number, value);

static int switch_set(Slapi_PBlock *pb, int parameter, void *value)
{
	char *part;

	if (!pb)
		return -1;
	switch (parameter) {
#include "pblock/parameters.def"
	default:
		return -1;
	}
}

static unsigned pieces_of(Slapi_PBlock *pb, struct piece *pieces)
{
	unsigned count = 0;

	pieces[count++] = (struct piece){pb, sizeof(*pb)};
	for (enum part part = PLUGIN; part < PARTS; part++)
		if (pb->flat.part[part])
			pieces[count++] = (struct piece){pb->flat.part[part], part_size[part]};
	return count;
}

const struct contestant contestant_v1 = {
	.name = "v1",
	.new = slapi_pblock_new,
	.destroy = slapi_pblock_destroy,
	.get = slapi_pblock_get,
	.set = slapi_pblock_set,
	.has_strings = true,
	.pieces = pieces_of,
};

const struct contestant contestant_v1_switch = {
	.name = "v1-switch",
	.new = slapi_pblock_new,
	.destroy = slapi_pblock_destroy,
	.get = switch_get,
	.set = switch_set,
	.has_strings = true,
	.pieces = pieces_of,
};
