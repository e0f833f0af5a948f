# SPDX-License-Identifier: MIT
#
# Recording, which both layouts of the pblock call: pblock_v1 has these sources, too.
set(SLAB_DIRSRV_PROFILE_SOURCES
	profile/record.c profile/switch.c profile/lives.c profile/profile_write.c
	profile/calls.c profile/file.c)
target_sources(slab_dirsrv PRIVATE ${SLAB_DIRSRV_PROFILE_SOURCES})
list(APPEND SLAB_DIRSRV_HEADERS ${PROJECT_SOURCE_DIR}/include/slab/dirsrv/profile.h)
