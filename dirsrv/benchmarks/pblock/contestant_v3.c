/* SPDX-License-Identifier: MIT */
/* The split pblock of libslab_dirsrv.so. */
#include "model.h"
#include "pblock/v3.h"

static const size_t sizes[PBLOCK_PARTS] = {
	[PBLOCK_PART_rare] = sizeof(struct pblock_rare),
#define PBLOCK_PART(part) [PBLOCK_PART_##part] = sizeof(struct pblock_##part),
#define PBLOCK_PARAMETER(number, name, kind, group, part, preset)
#define PBLOCK_END(part)
#include "pblock/parameters.def"
};

static unsigned pieces_of(Slapi_PBlock *pb, struct piece *pieces)
{
	const struct pblock_rare *rare = pb->part[PBLOCK_PART_rare];
	unsigned count = 0;

	pieces[count++] = (struct piece){pb, sizeof(*pb)};
	for (unsigned part = PBLOCK_PART_operation; part < PBLOCK_PARTS; part++) {
		if (!(pb->present & (1u << part)))
			continue;
		pieces[count].at =
			part < PBLOCK_DIRECT ? pb->part[part] : rare->part[part - PBLOCK_DIRECT];
		pieces[count++].size = sizes[part];
	}
	return count;
}

const struct contestant contestant_v3 = {
	.name = "v3",
	.new = slapi_pblock_new,
	.destroy = slapi_pblock_destroy,
	.get = slapi_pblock_get,
	.set = slapi_pblock_set,
	.has_strings = true,
	.pieces = pieces_of,
};
