# SPDX-License-Identifier: MIT
#
# Recordings, pictures, and what changed between two moments.

foreach(test record pictures diff)
	slab_add_test(${test}_test SOURCES ${test}_test.cc LABELS tools)
	target_link_libraries(${test}_test PRIVATE PkgConfig::JSONC)
	target_compile_definitions(${test}_test PRIVATE
		SLABINFO="$<TARGET_FILE:slabinfo>"
		CONTROL_SERVER="$<TARGET_FILE:control_server>"
		GOLDEN="${CMAKE_CURRENT_SOURCE_DIR}/golden"
		VALIDATE="${CMAKE_CURRENT_SOURCE_DIR}/validate.py"
		SCHEMA="${PROJECT_SOURCE_DIR}/docs/schema/slabinfo.schema.json")
	add_dependencies(${test}_test slabinfo control_server)
endforeach()
