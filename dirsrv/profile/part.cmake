# SPDX-License-Identifier: MIT
#
# Recording, which both layouts of the pblock call.
list(APPEND SLAB_DIRSRV_PBLOCK_SOURCES
	profile/record.c profile/calls.c profile/file.c)
list(APPEND SLAB_DIRSRV_HEADERS ${CMAKE_CURRENT_SOURCE_DIR}/include/slab/dirsrv/profile.h)
