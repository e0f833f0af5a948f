/* SPDX-License-Identifier: MIT */
/*
 * A model of 389 Directory Server's own split pblock, with access by the same kind of table
 * as libslab's. It has a top of 88 bytes and seven structs of the original sizes, each
 * allocated by calloc() when a parameter in it is first set. The structs of the plug-in, the
 * operation and the connection do not belong to the pblock; they exist anyway and are
 * reused. To be fair to the original, the model allocates nothing for these, and clears the
 * operation's parameters only if they were used.
 *
 * A model needs no names: it assigns offsets when the program starts. No workload has kinds of
 * values that need more than a load and a store.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "pblock/parameter.h"

enum group {
	GROUP_top,
	GROUP_dse,
	GROUP_task,
	GROUP_mr,
	GROUP_misc,
	GROUP_intop,
	GROUP_intplugin,
	GROUP_deprecated,
	GROUPS_OWNED,
	GROUP_plugin = GROUPS_OWNED,
	GROUP_op,
	GROUP_conn,
	GROUPS,
	GROUP_callback = GROUP_plugin,
	GROUP_backend = GROUP_conn,
};

/* The structs of the pblock, as 389 Directory Server 2.3.1 has them. */
static const size_t sizes[GROUPS_OWNED] = {
	[GROUP_top] = 88,  [GROUP_dse] = 24,    [GROUP_task] = 152,     [GROUP_mr] = 96,
	[GROUP_misc] = 24, [GROUP_intop] = 200, [GROUP_intplugin] = 72, [GROUP_deprecated] = 88,
};
#define COMMON_SIZE 2048

struct top {
	void *group[GROUPS_OWNED - 1]; /* without itself */
	void *common[4];
};
_Static_assert(sizeof(struct top) == 88, "eleven pointers");

static struct entry {
	uint16_t offset;
	uint8_t group;
	uint8_t kind;
} entries[PBLOCK_NUMBERS];

static const struct parameter {
	uint16_t number;
	uint8_t group;
	uint8_t kind;
} parameters[] = {
#define PBLOCK_PART(part)
#define PBLOCK_END(part)
#define PBLOCK_PARAMETER(number, name, kind, group, part, preset)                                  \
	{number, GROUP_##group, PBLOCK_##kind},
#include "pblock/parameters.def"
#undef PBLOCK_PARAMETER
};

/* The structs of plug-in, operation and connection: one pblock uses them at a time. */
static _Alignas(64) char common[GROUPS - GROUPS_OWNED][COMMON_SIZE];
static size_t used[GROUPS];
static bool operation_used;

__attribute__((constructor)) static void give_out_offsets(void)
{
	used[GROUP_top] = offsetof(struct top, common);
	for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++) {
		const struct parameter *p = &parameters[i];
		size_t size = p->kind == PBLOCK_INT || p->kind == PBLOCK_PRESET ? 4 : 8;
		size_t offset = (used[p->group] + size - 1) / size * size;

		/* libslab's list has a few more parameters; they share the last place. */
		if (p->group < GROUPS_OWNED && offset + size > sizes[p->group])
			offset = sizes[p->group] - size;
		used[p->group] = offset + size;
		entries[p->number] = (struct entry){offset, p->group, p->kind};
	}
}

static inline char *group_of(Slapi_PBlock *pb, enum group group)
{
	struct top *top = (struct top *)pb;

	if (group == GROUP_top)
		return (char *)top;
	if (group >= GROUPS_OWNED)
		return common[group - GROUPS_OWNED];
	return top->group[group - 1];
}

static inline int read_from(Slapi_PBlock *pb, struct entry entry, void *value)
{
	static const void *zero;
	const char *group = group_of(pb, entry.group);
	const void *stored = group ? group + entry.offset : (const char *)&zero;

	if (entry.kind == PBLOCK_POINTER || entry.kind == PBLOCK_WORD)
		memcpy(value, stored, sizeof(void *));
	else
		memcpy(value, stored, sizeof(int));
	return 0;
}

static int model_get(Slapi_PBlock *pb, int parameter, void *value)
{
	if (!pb || (unsigned)parameter >= PBLOCK_NUMBERS)
		return -1;
	return read_from(pb, entries[parameter], value);
}

static __attribute__((noinline)) char *add_group(Slapi_PBlock *pb, enum group group)
{
	return ((struct top *)pb)->group[group - 1] = calloc(1, sizes[group]);
}

static inline int write_to(Slapi_PBlock *pb, struct entry entry, void *value)
{
	char *group = group_of(pb, entry.group);

	if (!group)
		group = add_group(pb, entry.group);
	if (entry.group == GROUP_op)
		operation_used = true;
	if (entry.kind == PBLOCK_POINTER)
		memcpy(group + entry.offset, &value, sizeof(value));
	else
		memcpy(group + entry.offset, value, sizeof(int));
	return 0;
}

static int model_set(Slapi_PBlock *pb, int parameter, void *value)
{
	if (!pb || (unsigned)parameter >= PBLOCK_NUMBERS)
		return -1;
	return write_to(pb, entries[parameter], value);
}

/* Access by a switch: group and kind are constants in each case. The offset would be a
 * constant, too; the model loads it, instead of the operation's or plug-in's address. */
#define ENTRY(number, group, kind)                                                                 \
	(struct entry)                                                                             \
	{                                                                                          \
		entries[number].offset, GROUP_##group, PBLOCK_##kind                               \
	}

#define PBLOCK_PARAMETER(number, name, kind, group, part, preset)                                  \
	case number:                                                                               \
		return read_from(pb, ENTRY(number, group, kind), value);

static int switch_get(Slapi_PBlock *pb, int parameter, void *value)
{
	if (!pb)
		return -1;
	switch (parameter) {
#include "pblock/parameters.def"
	default:
		return -1;
	}
}

#undef PBLOCK_PARAMETER
#define PBLOCK_PARAMETER(number, name, kind, group, part, preset)                                  \
	case number:                                                                               \
		return write_to(pb, ENTRY(number, group, kind), value);

static int switch_set(Slapi_PBlock *pb, int parameter, void *value)
{
	if (!pb)
		return -1;
	switch (parameter) {
#include "pblock/parameters.def"
	default:
		return -1;
	}
}

static Slapi_PBlock *model_new(void)
{
	struct top *top = calloc(1, sizeof(*top));

	return (Slapi_PBlock *)top;
}

static void model_destroy(Slapi_PBlock *pb)
{
	struct top *top = (struct top *)pb;

	if (operation_used)
		memset(common[GROUP_op - GROUPS_OWNED], 0, used[GROUP_op]);
	operation_used = false;
	for (unsigned group = 1; group < GROUPS_OWNED; group++)
		if (top->group[group - 1])
			free(top->group[group - 1]);
	free(top);
}

static unsigned pieces_of(Slapi_PBlock *pb, struct piece *pieces)
{
	struct top *top = (struct top *)pb;
	unsigned count = 0;

	pieces[count++] = (struct piece){top, sizeof(*top)};
	for (unsigned group = 1; group < GROUPS_OWNED; group++)
		if (top->group[group - 1])
			pieces[count++] = (struct piece){top->group[group - 1], sizes[group]};
	if (operation_used)
		pieces[count++] = (struct piece){common[GROUP_op - GROUPS_OWNED], used[GROUP_op]};
	return count;
}

const struct contestant contestant_split389 = {
	.name = "split389",
	.new = model_new,
	.destroy = model_destroy,
	.get = model_get,
	.set = model_set,
	.pieces = pieces_of,
};

const struct contestant contestant_split389_switch = {
	.name = "split389-switch",
	.new = model_new,
	.destroy = model_destroy,
	.get = switch_get,
	.set = switch_set,
	.pieces = pieces_of,
};
