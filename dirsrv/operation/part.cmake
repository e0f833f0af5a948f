# SPDX-License-Identifier: MIT
target_sources(slab_dirsrv PRIVATE operation/operation.c)
list(APPEND SLAB_DIRSRV_HEADERS ${PROJECT_SOURCE_DIR}/include/slab/dirsrv/operation.h)
