# SPDX-License-Identifier: MIT
#
# The pblock: one suite for both layouts, without and with debug letters; and what is
# true of the split one alone.
function(slab_add_pblock_test name library)
	slab_add_test(${name} SOURCES dirsrv/pblock_test.cc dirsrv/pblock_memory.cc ${ARGN}
		LABELS unit)
	target_link_libraries(${name} PRIVATE ${library} slab_testing)
	target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/dirsrv)
	foreach(function calloc free slab_alloc slab_free slab_malloc slab_mfree)
		target_link_options(${name} PRIVATE LINKER:--wrap=${function})
	endforeach()
	if(NOT TEST ${name})
		return() # starts no threads
	endif()
	add_test(NAME ${name}.letters COMMAND ${name})
	set_tests_properties(${name}.letters PROPERTIES LABELS unit TIMEOUT 300
		ENVIRONMENT "${SLAB_TEST_ENVIRONMENT};SLAB_DEBUG=FZPU")
endfunction()

slab_add_pblock_test(pblock_v1_test pblock_v1)
slab_add_pblock_test(pblock_v3_test slab_dirsrv_testing dirsrv/pblock_split_test.cc)
