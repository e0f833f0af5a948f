/* SPDX-License-Identifier: MIT */
/*
 * The flat pblock, the layout before the split: one struct of 712 bytes from calloc(), and separate
 * structs of plug-in, operation and connection. It is the reference for the split pblock: the tests
 * run both layouts, and benchmarks compare them.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "parameter.h"

/* The struct that has the parameters of a group. */
enum part { FLAT, PLUGIN, OPERATION, CONNECTION, PARTS };
#define PART_top FLAT
#define PART_callback FLAT
#define PART_intop FLAT
#define PART_intplugin FLAT
#define PART_mr FLAT
#define PART_task FLAT
#define PART_dse FLAT
#define PART_misc FLAT
#define PART_deprecated FLAT
#define PART_plugin PLUGIN
#define PART_op OPERATION
#define PART_conn CONNECTION
#define PART_backend CONNECTION

/* Members of a struct: IN_part is the member in its own struct and nothing in others. */
#define PBLOCK_PART(part)
#define PBLOCK_END(part)
#define MEMBER_OF(part, member) MEMBER_OF_(part, member)
#define MEMBER_OF_(part, member) IN_##part(member)
#define PBLOCK_PARAMETER(number, name, kind, group, part, preset)                                  \
	MEMBER_OF(PART_##group, PBLOCK_STORED_##kind(name);)
#define IN_FLAT(member) member
#define IN_PLUGIN(member)
#define IN_OPERATION(member)
#define IN_CONNECTION(member)
struct flat {
	void *part[PARTS]; /* [FLAT] is the pblock */
#include "parameters.def"
};
#undef IN_FLAT
#undef IN_PLUGIN
#define IN_FLAT(member)
#define IN_PLUGIN(member) member
struct plugin {
#include "parameters.def"
};
#undef IN_PLUGIN
#undef IN_OPERATION
#define IN_PLUGIN(member)
#define IN_OPERATION(member) member
struct operation {
#include "parameters.def"
};
#undef IN_OPERATION
#undef IN_CONNECTION
#define IN_OPERATION(member)
#define IN_CONNECTION(member) member
struct connection {
#include "parameters.def"
};

/* 712 bytes also include members that are no parameters. */
struct slapi_pblock {
	union {
		struct flat flat;
		char size[712];
	};
};
_Static_assert(sizeof(struct slapi_pblock) == 712, "as it was");

static const size_t part_size[PARTS] = {
	[PLUGIN] = sizeof(struct plugin),
	[OPERATION] = sizeof(struct operation),
	[CONNECTION] = sizeof(struct connection),
};

struct entry {
	uint16_t offset;
	uint8_t part;
	uint8_t kind;
};

#undef PBLOCK_PARAMETER
#define STRUCT_OF(part) STRUCT_OF_(part)
#define STRUCT_OF_(part) STRUCT_##part
#define STRUCT_FLAT struct flat
#define STRUCT_PLUGIN struct plugin
#define STRUCT_OPERATION struct operation
#define STRUCT_CONNECTION struct connection
#define PBLOCK_PARAMETER(number, name, type, group, home, preset)                                  \
	[number] = {                                                                               \
		.offset = offsetof(STRUCT_OF(PART_##group), name),                                 \
		.part = PART_##group,                                                              \
		.kind = PBLOCK_##type,                                                             \
	},
static const struct entry entries[PBLOCK_NUMBERS] = {
#include "parameters.def"
};

/* The contents of an absent part. */
static const union {
	struct plugin plugin;
	struct operation operation;
	struct connection connection;
} absent;

void *pblock_stored(Slapi_PBlock *pb, unsigned number)
{
	char *part = pb->flat.part[entries[number].part];

	return part ? part + entries[number].offset : NULL;
}

void *pblock_stored_or_new(Slapi_PBlock *pb, unsigned number)
{
	enum part part = entries[number].part;

	if (!pb->flat.part[part])
		pb->flat.part[part] = calloc(1, part_size[part]);
	return pblock_stored(pb, number);
}

static bool is_parameter(int number)
{
	return (unsigned)number < PBLOCK_NUMBERS && entries[number].kind != PBLOCK_NONE;
}

int slapi_pblock_get(Slapi_PBlock *pb, int parameter, void *value)
{
	if (!pb || !value || !is_parameter(parameter))
		return -1;
	if (pblock_is_recording())
		pblock_record(CALL_GET, pb, (uintptr_t)parameter);

	struct entry entry = entries[parameter];
	const char *part = pb->flat.part[entry.part];
	const char *stored = part ? part + entry.offset : (const char *)&absent;

	if (entry.kind == PBLOCK_POINTER)
		memcpy(value, stored, sizeof(void *));
	else if (entry.kind == PBLOCK_INT)
		memcpy(value, stored, sizeof(int));
	else
		return pblock_value_get(entry.kind, parameter, stored, value);
	return 0;
}

/* Set a parameter of an uncommon kind, or of an absent part. */
static int set_slow(Slapi_PBlock *pb, int number, void *value)
{
	enum pblock_kind kind = entries[number].kind;
	void *stored = pblock_stored(pb, number);

	if (!stored && pblock_value_is_default(kind, number, value))
		return 0;
	if (!stored)
		stored = pblock_stored_or_new(pb, number);
	return stored ? pblock_value_set(kind, number, stored, value) : -1;
}

int slapi_pblock_set(Slapi_PBlock *pb, int parameter, void *value)
{
	if (!pb || !is_parameter(parameter))
		return -1;
	if (pblock_is_recording())
		pblock_record(CALL_SET, pb, (uintptr_t)parameter);

	struct entry entry = entries[parameter];
	char *part = pb->flat.part[entry.part];

	if (part && entry.kind == PBLOCK_POINTER)
		memcpy(part + entry.offset, &value, sizeof(value));
	else if (part && entry.kind == PBLOCK_INT && value)
		memcpy(part + entry.offset, value, sizeof(int));
	else
		return set_slow(pb, parameter, value);
	return 0;
}

Slapi_PBlock *pblock_make(void)
{
	Slapi_PBlock *pb = calloc(1, sizeof(*pb));

	if (pb)
		pb->flat.part[FLAT] = pb;
	return pb;
}

Slapi_PBlock *slapi_pblock_new(void)
{
	Slapi_PBlock *pb = pblock_make();

	if (pb && pblock_is_recording())
		pblock_record(CALL_NEW, pb, 0);
	return pb;
}

static void empty(Slapi_PBlock *pb)
{
	pblock_free_owned(pb, pblock_stored);
	for (enum part part = PLUGIN; part < PARTS; part++)
		free(pb->flat.part[part]);
}

void slapi_pblock_init(Slapi_PBlock *pb)
{
	if (!pb)
		return;
	if (pblock_is_recording())
		pblock_record(CALL_INIT, pb, 0);
	empty(pb);
	memset(pb, 0, sizeof(*pb));
	pb->flat.part[FLAT] = pb;
}

void slapi_pblock_destroy(Slapi_PBlock *pb)
{
	if (!pb)
		return;
	if (pblock_is_recording())
		pblock_record(CALL_DESTROY, pb, 0);
	empty(pb);
	free(pb);
}

size_t slab_pblock_size(const Slapi_PBlock *pb)
{
	size_t size = pb ? sizeof(*pb) : 0;

	for (enum part part = PLUGIN; pb && part < PARTS; part++)
		size += pb->flat.part[part] ? part_size[part] : 0;
	return size;
}
