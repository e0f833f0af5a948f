/* SPDX-License-Identifier: MIT */
/* Other names for the symbols of dirsrv/pblock/v1.c, so that both pblocks fit in one program. */
#define slapi_pblock_new v1_pblock_new
#define slapi_pblock_init v1_pblock_init
#define slapi_pblock_destroy v1_pblock_destroy
#define slapi_pblock_get v1_pblock_get
#define slapi_pblock_set v1_pblock_set
#define slapi_pblock_clone v1_pblock_clone
#define slab_pblock_size v1_pblock_size
