/* SPDX-License-Identifier: MIT */
/* Written for 389 Directory Server's plug-in API: the names are all there are of it. */
#include <stdio.h>

#include <slab/dirsrv/pblock.h>

int main(void)
{
	Slapi_PBlock *pb = slapi_pblock_new();
	int scope = 2, got = -1;

	slapi_pblock_set(pb, SLAPI_SEARCH_SCOPE, &scope);
	slapi_pblock_get(pb, SLAPI_SEARCH_SCOPE, &got);
	slapi_pblock_destroy(pb);
	if (got != scope) {
		fprintf(stderr, "dirsrv: the scope is %d, not %d\n", got, scope);
		return 1;
	}
	return 0;
}
