# SPDX-License-Identifier: MIT
#
# The split pblock, the flat one, and what both have.
list(APPEND SLAB_DIRSRV_PBLOCK_SOURCES pblock/clone.c pblock/slapi_ch.c pblock/value.c)
set(SLAB_PBLOCK_V1_SOURCES pblock/v1.c)
set(SLAB_PBLOCK_V3_SOURCES pblock/v3.c pblock/v3_part.c pblock/v3_life.c)
list(APPEND SLAB_DIRSRV_HEADERS
	${CMAKE_CURRENT_SOURCE_DIR}/include/slab/dirsrv/pblock.h
	${CMAKE_CURRENT_SOURCE_DIR}/include/slab/dirsrv/slapi_ch.h)
