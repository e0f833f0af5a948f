/* SPDX-License-Identifier: MIT */
/*
 * The flat pblock: v1.c itself, which sees the names of rename_v1.h. Its parts are a
 * calloc() each; nothing records here.
 */
#include <malloc.h>

#include "pblock/v1.c"

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
