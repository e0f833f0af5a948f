# SPDX-License-Identifier: MIT
#
# Every view of slabinfo on a process that always answers the same.

slab_add_test(views_test SOURCES views_test.cc LABELS tools)
target_link_libraries(views_test PRIVATE PkgConfig::JSONC)
target_compile_definitions(views_test PRIVATE
	SLABINFO="$<TARGET_FILE:slabinfo>"
	CONTROL_SERVER="$<TARGET_FILE:control_server>"
	GOLDEN="${CMAKE_CURRENT_SOURCE_DIR}/golden")
add_dependencies(views_test slabinfo control_server)
