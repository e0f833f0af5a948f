# SPDX-License-Identifier: MIT
#
# The objects of a directory server.

# slab_add_dirsrv_test(…): as slab_add_test(), over slab_dirsrv_testing.
function(slab_add_dirsrv_test name)
	slab_add_test(${name} ${ARGN})
	target_link_libraries(${name} PRIVATE slab_dirsrv_testing PkgConfig::URCU)
endfunction()

slab_add_dirsrv_test(entry_test SOURCES dirsrv/entry_test.cc LABELS unit ENGINES)
