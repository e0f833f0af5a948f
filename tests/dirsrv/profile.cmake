# SPDX-License-Identifier: MIT
#
# Recording what is done with pblocks, and the programs that show and replay it.

slab_add_test(profile_record_test SOURCES dirsrv/profile_record_test.cc LABELS unit ENGINES)
target_link_libraries(profile_record_test PRIVATE slab_dirsrv_testing PkgConfig::JSONC)

slab_add_test(profile_record_stress_test SOURCES dirsrv/profile_record_stress_test.cc
	LABELS stress ENGINES)
target_link_libraries(profile_record_stress_test PRIVATE slab_dirsrv_testing PkgConfig::JSONC)

slab_add_test(profile_trace_test SOURCES dirsrv/profile_trace_test.cc LABELS unit)
target_link_libraries(profile_trace_test PRIVATE slab_dirsrv_testing PkgConfig::JSONC)
target_compile_definitions(profile_trace_test PRIVATE
	PBLOCK_REPLAY="$<TARGET_FILE:pblock-replay>" MANUAL="" BENCHMARKS="" GOLDEN="" VALIDATE=""
	SCHEMA="")
add_dependencies(profile_trace_test pblock-replay)

# A pblock that forgets: what pblock-replay is there to find.
add_library(forgetful_pblock SHARED dirsrv/forgetful_pblock.c)
target_compile_definitions(forgetful_pblock PRIVATE _GNU_SOURCE=)
target_include_directories(forgetful_pblock PRIVATE ${PROJECT_SOURCE_DIR}/include)
slab_warnings(forgetful_pblock)

slab_add_test(profile_tools_test
	SOURCES dirsrv/profile_tools_test.cc dirsrv/profile_replay_test.cc LABELS tools)
target_link_libraries(profile_tools_test PRIVATE PkgConfig::JSONC)
target_compile_definitions(profile_tools_test PRIVATE
	PBLOCK_PROFILE="$<TARGET_FILE:pblock-profile>"
	PBLOCK_REPLAY="$<TARGET_FILE:pblock-replay>"
	PBLOCK_REPLAY_V1="$<TARGET_FILE:pblock-replay-v1>"
	FORGETFUL_PBLOCK="$<TARGET_FILE:forgetful_pblock>"
	BENCHMARKS="${PROJECT_SOURCE_DIR}/benchmarks/pblock"
	MANUAL="${PROJECT_SOURCE_DIR}/docs/man/man1"
	GOLDEN="${CMAKE_CURRENT_SOURCE_DIR}/dirsrv/golden"
	VALIDATE="${CMAKE_CURRENT_SOURCE_DIR}/tools/validate.py"
	SCHEMA="${PROJECT_SOURCE_DIR}/docs/schema/pblock.schema.json")
add_dependencies(profile_tools_test pblock-profile pblock-replay pblock-replay-v1 forgetful_pblock)
foreach(test profile_record_test profile_record_stress_test profile_trace_test profile_tools_test)
	# What the shared helpers name beside it.
	target_compile_definitions(${test} PRIVATE SLABINFO="" CONTROL_SERVER="")
endforeach()
