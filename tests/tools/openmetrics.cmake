# SPDX-License-Identifier: MIT
#
# Metrics: their text, slab-exporter, and what a real Prometheus makes of both.

add_library(exporter_accept STATIC ${PROJECT_SOURCE_DIR}/tools/exporter/accept.c)
target_compile_definitions(exporter_accept PRIVATE _GNU_SOURCE=)
target_include_directories(exporter_accept PUBLIC ${PROJECT_SOURCE_DIR}/tools/exporter
	PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(exporter_accept PRIVATE inspect)
slab_warnings(exporter_accept)

slab_add_test(openmetrics_test SOURCES openmetrics_test.cc LABELS tools)
target_link_libraries(openmetrics_test PRIVATE exporter_accept inspect)
target_compile_definitions(openmetrics_test PRIVATE
	METRICS_TESTS="${PROJECT_SOURCE_DIR}/tests/metrics")

foreach(test exporter prometheus)
	slab_add_test(${test}_test SOURCES ${test}_test.cc LABELS tools SHARDS 3)
	target_link_libraries(${test}_test PRIVATE PkgConfig::JSONC)
	target_compile_definitions(${test}_test PRIVATE
		METRICS="${PROJECT_SOURCE_DIR}/tools/metrics"
		METRICS_TESTS="${PROJECT_SOURCE_DIR}/tests/metrics"
		SLAB_EXPORTER="$<TARGET_FILE:slab-exporter>"
		SLABINFO="$<TARGET_FILE:slabinfo>"
		HOSTILE_SERVER="$<TARGET_FILE:hostile_server>"
		CONTROL_SERVER="$<TARGET_FILE:control_server>")
	add_dependencies(${test}_test slab-exporter slabinfo control_server hostile_server)
endforeach()
