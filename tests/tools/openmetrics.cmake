# SPDX-License-Identifier: MIT
#
# Metrics: their text, slab-exporter, and what a real Prometheus makes of both.

slab_add_test(openmetrics_test
	SOURCES openmetrics_test.cc ${PROJECT_SOURCE_DIR}/tools/exporter/accept.c LABELS tools)
target_include_directories(openmetrics_test PRIVATE ${PROJECT_SOURCE_DIR}/tools/exporter)
target_link_libraries(openmetrics_test PRIVATE inspect)
target_compile_definitions(openmetrics_test PRIVATE
	METRICS_TESTS="${PROJECT_SOURCE_DIR}/tests/metrics")

foreach(test exporter prometheus)
	slab_add_test(${test}_test SOURCES ${test}_test.cc LABELS tools)
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
