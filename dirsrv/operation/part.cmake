# SPDX-License-Identifier: MIT
list(APPEND SLAB_DIRSRV_ENTRY_SOURCES operation/operation.c)
list(APPEND SLAB_DIRSRV_HEADERS ${CMAKE_CURRENT_SOURCE_DIR}/include/slab/dirsrv/operation.h)
