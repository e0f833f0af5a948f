# SPDX-License-Identifier: MIT
list(APPEND SLAB_DIRSRV_ENTRY_SOURCES
	entry/attribute.c
	entry/batch.c
	entry/cache.c
	entry/change.c
	entry/dn.c
	entry/entry.c
	entry/evict.c
	entry/policy.c
	entry/pool.c
	entry/readers.c
	entry/statistics.c
	entry/table.c
)
list(APPEND SLAB_DIRSRV_HEADERS
	${CMAKE_CURRENT_SOURCE_DIR}/include/slab/dirsrv/entry.h
	${CMAKE_CURRENT_SOURCE_DIR}/include/slab/dirsrv/entry_cache.h)
