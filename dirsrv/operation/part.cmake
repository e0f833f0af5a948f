# SPDX-License-Identifier: MIT
list(APPEND SLAB_DIRSRV_ENTRY_SOURCES operation/operation.c)
list(APPEND SLAB_DIRSRV_HEADERS ${PROJECT_SOURCE_DIR}/include/slab/dirsrv/operation.h)
