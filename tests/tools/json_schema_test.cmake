# SPDX-License-Identifier: MIT

slab_add_test(json_schema_test SOURCES json_schema_test.cc LABELS tools docs)
target_link_libraries(json_schema_test PRIVATE PkgConfig::JSONC)
target_compile_definitions(json_schema_test PRIVATE
	SLABINFO="$<TARGET_FILE:slabinfo>"
	CONTROL_SERVER="$<TARGET_FILE:control_server>"
	VALIDATE="${CMAKE_CURRENT_SOURCE_DIR}/validate.py"
	SCHEMA="${PROJECT_SOURCE_DIR}/docs/schema/slabinfo.schema.json")
add_dependencies(json_schema_test slabinfo control_server)
