# SPDX-License-Identifier: MIT
#
# Included by tests/: the programs do what the runner asks for. No figure is judged.
if(NOT SLAB_SANITIZE)
	add_test(NAME memory_benchmark_test
		COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/smoke.sh $<TARGET_FILE_DIR:memory-slab>)
	set_tests_properties(memory_benchmark_test PROPERTIES LABELS tools TIMEOUT 60)
endif()
