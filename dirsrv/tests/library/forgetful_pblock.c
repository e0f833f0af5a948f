/* SPDX-License-Identifier: MIT */
/* Loaded before libslab_dirsrv: gets of one parameter give what was never set. */
#include <dlfcn.h>
#include <slab/dirsrv/pblock.h>
#include <string.h>

int slapi_pblock_get(Slapi_PBlock *pb, int parameter, void *value)
{
	int (*get)(Slapi_PBlock *pblock, int number, void *to);
	void *symbol = dlsym(RTLD_NEXT, "slapi_pblock_get");
	int status;

	memcpy(&get, &symbol, sizeof(get));
	status = get(pb, parameter, value);
	if (parameter == SLAPI_SEARCH_SCOPE)
		memset(value, 0, sizeof(int));
	return status;
}
