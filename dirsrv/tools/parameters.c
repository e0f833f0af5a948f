/* SPDX-License-Identifier: MIT */
/* The table of parameters, made from the library's parameters.def. */
#include "parameters.h"

#include <slab/dirsrv/pblock.h>

#define POINTER_SIZE 8
#define INT_SIZE 4
#define ADDRESS_SIZE sizeof(struct slapi_pblock_address)

#define SIZE_OF_POINTER POINTER_SIZE
#define SIZE_OF_INT INT_SIZE
#define SIZE_OF_WORD POINTER_SIZE
#define SIZE_OF_PRESET INT_SIZE
#define SIZE_OF_OWNED POINTER_SIZE
#define SIZE_OF_OWNED_COPY POINTER_SIZE
#define SIZE_OF_TEXT POINTER_SIZE
#define SIZE_OF_TEXT_COPY POINTER_SIZE
#define SIZE_OF_ADDRESS ADDRESS_SIZE

/* Parts in the order of the table. */
enum part_of_table {
#define PBLOCK_PART(part) TABLE_PART_##part,
#define PBLOCK_END(part)
#define PBLOCK_PARAMETER(number, name, kind, group, part, preset)
#include PBLOCK_PARAMETERS_DEF
};
_Static_assert((int)TABLE_PART_top == (int)PART_top, "the first");
_Static_assert((int)TABLE_PART_operation == (int)PART_operation, "the second");

#undef PBLOCK_PART
#undef PBLOCK_END
#undef PBLOCK_PARAMETER
#define PBLOCK_PART(part)
#define PBLOCK_END(part)
#define PBLOCK_PARAMETER(number, name, kind, group, part, preset)                                  \
	{number,         "SLAPI_" #name,    KIND_##kind, GROUP_##group,                            \
	 SIZE_OF_##kind, TABLE_PART_##part, preset},

const struct parameter parameters[] = {
#include PBLOCK_PARAMETERS_DEF
};

const size_t parameters_count = sizeof(parameters) / sizeof(parameters[0]);

const struct parameter *parameter_find(uint32_t number)
{
	for (size_t i = 0; i < parameters_count; i++) {
		if (parameters[i].number == number)
			return &parameters[i];
	}
	return NULL;
}

const char *group_name(enum group group)
{
	static const char *const names[GROUPS] = {
		"pblock",     "callback", "pb_plugin",     "pb_op",   "pb_conn",
		"pb_backend", "pb_intop", "pb_intplugin",  "pb_misc", "pb_task",
		"pb_mr",      "pb_dse",   "pb_deprecated",
	};

	return names[group];
}
