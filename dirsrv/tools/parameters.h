/* SPDX-License-Identifier: MIT */
/* The parameters of pblocks, from the library's table (parameters.def). */
#ifndef PBLOCK_PARAMETERS_H
#define PBLOCK_PARAMETERS_H

#include <slab/dirsrv/profile.h>
#include <stddef.h>
#include <stdint.h>

/* The part of the struct of 712 bytes, or the separate struct, that a parameter belongs to. */
enum group {
	GROUP_top,
	GROUP_callback,
	GROUP_plugin,
	GROUP_op,
	GROUP_conn,
	GROUP_backend,
	GROUP_intop,
	GROUP_intplugin,
	GROUP_misc,
	GROUP_task,
	GROUP_mr,
	GROUP_dse,
	GROUP_deprecated,
	GROUPS
};

/* Parts of this library's pblock. The others are behind pointers in `rare`. */
enum part { PART_top, PART_operation, PART_FIRST_RARE };

/* Type and ownership of a value. */
enum kind {
	KIND_POINTER,
	KIND_INT,
	KIND_WORD,
	KIND_PRESET,     /* an int whose default is not 0 */
	KIND_OWNED,      /* memory that the pblock frees */
	KIND_OWNED_COPY, /* the same, but a get returns a copy */
	KIND_TEXT,       /* a string that a set copies */
	KIND_TEXT_COPY,  /* the same, but a get returns a copy */
	KIND_ADDRESS,    /* a network address, stored by value */
};

struct parameter {
	uint32_t number;
	const char *name; /* with SLAPI_ */
	enum kind kind;
	enum group group;
	size_t size;   /* bytes of the value in a pblock */
	unsigned part; /* of this library's pblock */
	int preset;    /* the default of an int */
};

extern const struct parameter parameters[];
extern const size_t parameters_count;

/* parameter_find: the parameter with this number; NULL: there is none. */
const struct parameter *parameter_find(uint32_t number);

/* group_name: "pb_op". */
const char *group_name(enum group group);

#endif /* PBLOCK_PARAMETERS_H */
