# SPDX-License-Identifier: MIT
#
# The split pblock, and the flat one.
set(SLAB_PBLOCK_COMMON pblock/clone.c pblock/value.c)
set(SLAB_PBLOCK_V1_SOURCES ${SLAB_PBLOCK_COMMON} pblock/v1.c)
target_sources(slab_dirsrv PRIVATE ${SLAB_PBLOCK_COMMON} pblock/v3.c pblock/v3_part.c pblock/v3_life.c)
list(APPEND SLAB_DIRSRV_HEADERS ${PROJECT_SOURCE_DIR}/include/slab/dirsrv/pblock.h)
