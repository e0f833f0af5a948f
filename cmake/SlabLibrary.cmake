# SPDX-License-Identifier: MIT
#
# How the sources of cpu_cache/ and slab/ become libraries. Each room is an OBJECT library for each
# of SLAB_KINDS, the libraries that are compiled in their own way: slab.core, slab_testing.core and
# so on. slab_static has the objects of slab.

# Where slab-symbolize is, from the folder of libraries and, as a last resort, as configured.
file(RELATIVE_PATH SLAB_BIN_FROM_LIB ${CMAKE_INSTALL_FULL_LIBDIR} ${CMAKE_INSTALL_FULL_BINDIR})
set(SLAB_SYMBOLIZE_PLACES
	SLAB_SYMBOLIZE_FROM_LIB="${SLAB_BIN_FROM_LIB}/slab-symbolize"
	SLAB_SYMBOLIZE_INSTALLED="${CMAKE_INSTALL_FULL_BINDIR}/slab-symbolize")

# slab_library(TARGET KIND): how a library, or a room of it, is compiled.
function(slab_library target kind)
	target_compile_definitions(${target} PRIVATE SLAB_LIBRARY=1
		_GNU_SOURCE= SLAB_VERSION="${PROJECT_VERSION}" ${SLAB_SYMBOLIZE_PLACES}
		${SLAB_PLATFORM_DEFINITIONS}
		$<$<BOOL:${SLAB_HAVE_VALGRIND}>:SLAB_HAVE_VALGRIND=1>
		$<$<BOOL:${SLAB_PROBES}>:SLAB_PROBES=1>)
	target_compile_features(${target} PUBLIC c_std_11)
	target_link_libraries(${target} PRIVATE Threads::Threads)
	# The dynamic linker allocates thread-local data of the other models when a thread first uses
	# it: malloc() must not.
	target_compile_options(${target} PRIVATE -ftls-model=initial-exec)
	set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET hidden)
	slab_warnings(${target})
	cmake_language(CALL ${kind}_options ${target})
endfunction()

function(slab_options target)
	slab_harden(${target})
	slab_shared_code(${target})
endfunction()

function(slab_lto_options target)
	slab_harden(${target})
	set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
	if(SLAB_LTO)
		# Programs that are linked without -flto can use it as well.
		target_compile_options(${target} PRIVATE -flto -ffat-lto-objects)
	else()
		set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION ON)
	endif()
endfunction()

# The archives of the white-box tests: internal headers included, assertions on.
function(slab_testing_options target)
	target_compile_definitions(${target} PUBLIC SLAB_TESTING=1)
	target_compile_options(${target} PUBLIC -UNDEBUG)
	slab_internal_headers(${target} INTERFACE)
endfunction()

function(slab_testing_asan_options target)
	slab_testing_options(${target})
	slab_asan_options(${target})
endfunction()

function(slab_testing_coverage_options target)
	slab_testing_options(${target})
	slab_coverage_options(${target})
endfunction()

# slab_room_headers(TARGET ROOM): what a file of the room may include (slab/CMakeLists.txt). The
# compiler writes the files' own names, not those of the links.
function(slab_room_headers target room)
	target_compile_options(${target} PRIVATE "SHELL:-iquote ${PROJECT_SOURCE_DIR}/cpu_cache")
	if(room STREQUAL cpu_cache)
		return()
	endif()
	set(links ${PROJECT_BINARY_DIR}/rooms/${room})
	set(sources ${PROJECT_SOURCE_DIR}/slab)
	if(CMAKE_GENERATOR MATCHES Ninja)
		# From where the compiler runs: a build in another place gives the same bytes.
		file(RELATIVE_PATH links ${CMAKE_BINARY_DIR} ${links})
		file(RELATIVE_PATH sources ${CMAKE_BINARY_DIR} ${sources})
	endif()
	target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
	target_compile_options(${target} PRIVATE "SHELL:-iquote ${links}"
		-ffile-prefix-map=${links}=${sources})
endfunction()

# Files whose speed counts: the fast paths, what runs each time that an array is full or empty, and
# each call in a cache with debug flags. All others are small in the libraries that users get.
set(SLAB_FILES_FOR_SPEED
	array.c cmpxchg16b.c mutex.c rseq.c # cpu_cache
	objects_put.c objects_take.c shard.c slab_objects.c # core
	count.c magazines.c refill.c # core, percpu
	check.c damage.c debug_objects.c debug_slabs.c layout.c depot.c profile.c track.c # debug, report
	free_rcu.c
	alloc_slow.c attempt.c bulk.c fastpath.c free_slow.c # alloc
	large.c malloc.c pointer.c token_malloc.c) # cache

# slab_add_room(ROOM SOURCE…)
function(slab_add_room room)
	foreach(source IN LISTS ARGN)
		if(NOT source IN_LIST SLAB_FILES_FOR_SPEED)
			set_source_files_properties(${source} PROPERTIES
				COMPILE_OPTIONS "$<$<BOOL:$<TARGET_PROPERTY:SLAB_SMALL>>:-Os>")
		endif()
	endforeach()
	foreach(kind IN LISTS SLAB_KINDS)
		set(target ${kind}.${room})
		add_library(${target} OBJECT EXCLUDE_FROM_ALL ${ARGN})
		slab_library(${target} ${kind})
		slab_room_headers(${target} ${room})
		if(kind MATCHES "^slab(_lto)?$")
			set_target_properties(${target} PROPERTIES SLAB_SMALL ON)
		endif()
		target_sources(${kind} PRIVATE $<TARGET_OBJECTS:${target}>)
		if(kind STREQUAL slab)
			target_sources(slab_static PRIVATE $<TARGET_OBJECTS:${target}>)
		endif()
	endforeach()
endfunction()
