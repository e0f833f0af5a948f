# SPDX-License-Identifier: MIT
#
# Processes that are read from outside, live and as core files.

function(slab_add_server name source)
	add_executable(${name} ${source})
	target_compile_definitions(${name} PRIVATE _GNU_SOURCE= ${ARGN})
	target_compile_options(${name} PRIVATE -g)
	slab_machine_options(${name})
	slab_warnings(${name})
endfunction()

slab_add_server(silent_server silent_server.c)
target_link_libraries(silent_server PRIVATE slab::slab Threads::Threads ${CMAKE_DL_LIBS})
slab_add_server(silent_server_archive silent_server.c)
target_link_libraries(silent_server_archive PRIVATE slab::slab_static Threads::Threads
	${CMAKE_DL_LIBS})
set(silent_servers silent_server silent_server_archive)
if(NOT SLAB_SANITIZE)
	slab_add_server(silent_server_static silent_server.c SILENT_SERVER_STATIC)
	target_link_options(silent_server_static PRIVATE -static -no-pie)
	target_link_libraries(silent_server_static PRIVATE slab::slab_static Threads::Threads)
	list(APPEND silent_servers silent_server_static)
endif()

foreach(kind layout dangling)
	string(TOUPPER ${kind} definition)
	slab_add_server(other_${kind} other_layout.c ${definition})
	target_include_directories(other_${kind} PRIVATE ${PROJECT_SOURCE_DIR}/include
		${PROJECT_SOURCE_DIR}/slab ${PROJECT_SOURCE_DIR}/cpu_cache)
endforeach()

slab_add_server(hostile_server hostile_server.c)

slab_add_test(elf_image_test SOURCES elf_image_test.cc LABELS tools)
target_link_libraries(elf_image_test PRIVATE inspect)

foreach(test memory core)
	slab_add_test(slabinfo_${test}_test SOURCES ${test}_test.cc LABELS tools SHARDS 2)
	target_link_libraries(slabinfo_${test}_test PRIVATE inspect PkgConfig::JSONC)
	target_compile_definitions(slabinfo_${test}_test PRIVATE
		SLABINFO="$<TARGET_FILE:slabinfo>"
		CONTROL_SERVER="$<TARGET_FILE:control_server>"
		PROGRAMS="$<TARGET_FILE_DIR:control_server>/"
		LIBSLAB="$<TARGET_FILE:slab>")
	add_dependencies(slabinfo_${test}_test slabinfo control_server hostile_server other_layout
		other_dangling ${silent_servers})
endforeach()

# core_fuzz SECONDS [SEED [CORE]]. With sanitizers it needs a core file of a program
# without them.
add_executable(core_fuzz core_fuzz.c)
target_compile_definitions(core_fuzz PRIVATE _GNU_SOURCE=
	CONTROL_SERVER="$<TARGET_FILE:control_server>")
target_include_directories(core_fuzz PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(core_fuzz PRIVATE inspect)
add_dependencies(core_fuzz control_server)
slab_warnings(core_fuzz)
if(NOT SLAB_SANITIZE)
	add_test(NAME core_fuzz COMMAND core_fuzz 2 1)
	set_tests_properties(core_fuzz PROPERTIES LABELS tools TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()
