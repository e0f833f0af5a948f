# SPDX-License-Identifier: MIT
#
# Programs of GoogleTest as tests of ctest: slab_add_test() and its kin.

# AddressSanitizer: the other engines' own code is tried by engine_test and engine_stress_test,
# and with all of the allocator by ThreadSanitizer. Tests of guard pages want to see the signal
# itself; and caches as they are without AddressSanitizer.
set(SLAB_ASAN_ENVIRONMENT ASAN_OPTIONS=handle_segv=0 SLAB_TOOLS=off)

# Sanitizers do not understand restartable sequences and cmpxchg16b of assembly:
# what ThreadSanitizer can judge is the mutex engine.
set(SLAB_TEST_ENGINES rseq cmpxchg16b mutex)
set(SLAB_TEST_ENVIRONMENT "")
if(SLAB_SANITIZE MATCHES "thread")
	set(SLAB_TEST_ENGINES mutex)
	# The control thread makes every process multi-threaded when it forks, and
	# fork holds more locks than the deadlock detector can count. Each child would sleep for a
	# second before it ends.
	set(SLAB_TEST_ENVIRONMENT
		TSAN_OPTIONS=die_after_fork=0:handle_segv=0:detect_deadlocks=0:atexit_sleep_ms=0)
elseif(SLAB_SANITIZE MATCHES "address")
	set(SLAB_TEST_ENGINES rseq)
	set(SLAB_TEST_ENVIRONMENT ${SLAB_ASAN_ENVIRONMENT})
endif()

# What is tried under sanitizers: the tests of these labels, and what they need.
add_custom_target(unit_and_stress)

# Whether any of these files starts threads. ThreadSanitizer has nothing to say of the others.
function(slab_starts_threads result)
	set(${result} FALSE PARENT_SCOPE)
	foreach(file IN LISTS ARGN)
		file(STRINGS ${file} found REGEX
			"std::(thread|async)|support/(cancelled|worker)[.]h|pthread_create"
			LIMIT_COUNT 1)
		if(found)
			set(${result} TRUE PARENT_SCOPE)
		endif()
	endforeach()
endfunction()

# How GoogleTest programs are compiled and linked. What is tried is the library; the tests
# themselves are to be built fast. Where there is gold, and no flag chooses another linker, linking
# takes half the time.
include(CheckLinkerFlag)
if(NOT CMAKE_CROSSCOMPILING AND NOT CMAKE_EXE_LINKER_FLAGS MATCHES "-fuse-ld")
	check_linker_flag(CXX -fuse-ld=gold SLAB_HAVE_GOLD)
endif()
function(slab_test_options target)
	slab_warnings(${target})
	target_compile_options(${target} PRIVATE -O0 -g1)
	if(SLAB_HAVE_GOLD)
		target_link_options(${target} PRIVATE -fuse-ld=gold)
	endif()
	if(SLAB_SANITIZE)
		target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
	endif()
	# The files of a program are one for the compiler, which takes a third less time so.
	# clang-tidy and the preset "clang" see each alone.
	if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
		set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
	endif()
endfunction()

# A build without sanitizers has each unit and stress test once more as NAME.asan, and those of
# slab/ and cpu_cache/ (SLAB_COUNTED) as NAME.coverage: the objects of NAME, linked with
# archives that have AddressSanitizer, or count for gcov. What is compiled again is so the library, not the tests. They are built
# (asan_programs, coverage_programs) and run when asked for: ctest -C variants, or -C asan.
# The preset "asan" has all code instrumented, that of the tests included.
if(NOT SLAB_SANITIZE)
	add_custom_target(asan_programs)
	add_custom_target(coverage_programs)
endif()

# slab_add_variant_test(VARIANT TEST NAME LABELS label… ENVIRONMENT variable…): the test
# VARIANT.TEST of NAME.VARIANT, which takes as many processors as TEST.
function(slab_add_variant_test variant test name)
	cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "LABELS;ENVIRONMENT")
	if(NOT TARGET ${name}.${variant})
		add_executable(${name}.${variant} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${name}>)
		# Reports name the program; slab-symbolize is found in ../bin.
		set_target_properties(${name}.${variant} PROPERTIES LINKER_LANGUAGE CXX
			OUTPUT_NAME ${name}
			RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin-${variant})
		add_dependencies(${variant}_programs ${name}.${variant})
		# When all is known that NAME is linked with.
		cmake_language(EVAL CODE
			"cmake_language(DEFER CALL slab_link_variant ${variant} ${name})")
	endif()
	add_test(NAME ${variant}.${test} CONFIGURATIONS variants ${variant} COMMAND ${name}.${variant})
	get_test_property(${test} PROCESSORS processors)
	set_tests_properties(${variant}.${test} PROPERTIES LABELS "${variant};${arg_LABELS}"
		TIMEOUT 1500 PROCESSORS ${processors} ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()

function(slab_link_variant variant name)
	get_target_property(libraries ${name} LINK_LIBRARIES)
	foreach(library IN LISTS libraries)
		if(TARGET ${library}_${variant})
			set(library ${library}_${variant})
		endif()
		target_link_libraries(${name}.${variant} PRIVATE ${library})
	endforeach()
	get_target_property(options ${name} LINK_OPTIONS)
	if(options)
		target_link_options(${name}.${variant} PRIVATE ${options})
	endif()
	get_target_property(needed ${name} MANUALLY_ADDED_DEPENDENCIES)
	if(needed)
		add_dependencies(${name}.${variant} ${needed})
	endif()
endfunction()

# slab_add_tested(): the target "tested", all that ./run test runs: everything but
# the program that takes link-time optimisation, which no test runs.
function(slab_add_tested)
	add_custom_target(tested DEPENDS slab_man3)
	set(folders ${PROJECT_SOURCE_DIR})
	while(folders)
		list(POP_FRONT folders folder)
		get_directory_property(below DIRECTORY ${folder} SUBDIRECTORIES)
		list(APPEND folders ${below})
		get_directory_property(targets DIRECTORY ${folder} BUILDSYSTEM_TARGETS)
		list(REMOVE_ITEM targets tested objects-slab-lto)
		foreach(target IN LISTS targets)
			get_target_property(excluded ${target} EXCLUDE_FROM_ALL)
			if(NOT excluded)
				add_dependencies(tested ${target})
			endif()
		endforeach()
	endwhile()
endfunction()

# slab_add_test(NAME SOURCES file… LABELS label… [OPTIONS option…] [ENGINES | SHARDS n]
#               [LIBRARIES library…] [DEFINITIONS definition…] [NEEDS target…]
#               [WITHOUT variant…]):
# a GoogleTest program over the archive slab_testing; with ENGINES it is one test for
# each engine, NAME.rseq and so on. What is compiled with OPTIONS other than -g reads its
# own headers: gcc takes precompiled ones of other options, and crashes. NEEDS are the
# targets that the program runs. WITHOUT: the test takes long, and a variant of it would find nothing
# that those of other tests do not find.
#
# ./run test lets ctest run three times as many tests as there are CPUs: those of programs
# mostly wait for each other and for clocks, so they start first (COST); of those that
# wait longest the program runs as n shards, NAME.1 and so on. Others take the places of
# two, stress tests those of four (PROCESSORS).
function(slab_add_test name)
	cmake_parse_arguments(PARSE_ARGV 1 arg "ENGINES" "SHARDS"
		"SOURCES;LABELS;OPTIONS;LIBRARIES;DEFINITIONS;NEEDS;WITHOUT")
	add_executable(${name} ${arg_SOURCES})
	target_link_libraries(${name} PRIVATE slab_testing GTest::gtest_main Threads::Threads
		${arg_LIBRARIES})
	target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
	slab_test_options(${name})
	if(arg_NEEDS)
		add_dependencies(${name} ${arg_NEEDS})
	endif()
	target_compile_options(${name} PRIVATE ${arg_OPTIONS})
	if(NOT arg_OPTIONS)
		target_precompile_headers(${name} REUSE_FROM precompiled)
	endif()
	slab_starts_threads(threads ${arg_SOURCES})
	if(SLAB_SANITIZE MATCHES "thread" AND NOT threads)
		set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
		return()
	endif()
	if("unit" IN_LIST arg_LABELS OR "stress" IN_LIST arg_LABELS)
		add_dependencies(unit_and_stress ${name})
	endif()

	set(tests ${name})
	if(arg_ENGINES)
		list(TRANSFORM SLAB_TEST_ENGINES PREPEND ${name}. OUTPUT_VARIABLE tests)
	elseif(arg_SHARDS)
		set(tests "")
		foreach(shard RANGE 1 ${arg_SHARDS})
			list(APPEND tests ${name}.${shard})
		endforeach()
	endif()
	foreach(test IN LISTS tests)
		set(environment ${SLAB_TEST_ENVIRONMENT})
		if(arg_ENGINES)
			string(REPLACE ${name}. "" engine ${test})
			list(APPEND environment SLAB_ENGINE=${engine})
		elseif(arg_SHARDS)
			string(REPLACE ${name}. "" shard ${test})
			math(EXPR index "${shard} - 1")
			list(APPEND environment
				GTEST_TOTAL_SHARDS=${arg_SHARDS} GTEST_SHARD_INDEX=${index})
		endif()
		add_test(NAME ${test} COMMAND ${name})
		set_tests_properties(${test} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 1500
			ENVIRONMENT "${environment}")
		if("stress" IN_LIST arg_LABELS)
			set_tests_properties(${test} PROPERTIES PROCESSORS 4)
		elseif(arg_SHARDS)
			set_tests_properties(${test} PROPERTIES COST 20)
		elseif("tools" IN_LIST arg_LABELS)
			set_tests_properties(${test} PROPERTIES COST 10)
		else()
			set_tests_properties(${test} PROPERTIES PROCESSORS 2)
		endif()
	endforeach()

	if(SLAB_SANITIZE OR NOT ("unit" IN_LIST arg_LABELS OR "stress" IN_LIST arg_LABELS))
		return()
	endif()
	set(test ${name})
	set(environment "")
	if(arg_ENGINES)
		set(test ${name}.rseq)
		set(environment SLAB_ENGINE=rseq)
	endif()
	if(NOT "asan" IN_LIST arg_WITHOUT)
		slab_add_variant_test(asan ${test} ${name} LABELS ${arg_LABELS}
			ENVIRONMENT ${SLAB_ASAN_ENVIRONMENT} ${environment})
	endif()
	# Stress tests execute what the others do, again and again.
	if(SLAB_COUNTED AND NOT "stress" IN_LIST arg_LABELS AND NOT "coverage" IN_LIST arg_WITHOUT)
		slab_add_variant_test(coverage ${test} ${name} LABELS ${arg_LABELS}
			ENVIRONMENT GCOV_ERROR_FILE=/dev/null ${environment})
	endif()
endfunction()

# slab_add_page_size_tests(NAME…): these tests once more as on machines with larger pages
# (os.c), on the default engine.
function(slab_add_page_size_tests)
	if(SLAB_SANITIZE)
		return()
	endif()
	foreach(name IN LISTS ARGN)
		foreach(size 16384 65536)
			add_test(NAME ${name}.page${size} COMMAND ${name})
			set_tests_properties(${name}.page${size} PROPERTIES LABELS unit TIMEOUT 1500
				PROCESSORS 2 ENVIRONMENT SLAB_TEST_PAGE_SIZE=${size})
		endforeach()
	endforeach()
endfunction()

# slab_add_tools_test(NAME …): as slab_add_test(), for what runs slabinfo or a client on the process
# control_server (tests/support/server.h).
function(slab_add_tools_test name)
	slab_add_test(${name} ${ARGN} LABELS tools)
	target_link_libraries(${name} PRIVATE inspect PkgConfig::JSONC)
	target_compile_definitions(${name} PRIVATE
		SLABINFO="$<TARGET_FILE:slabinfo>"
		CONTROL_SERVER="$<TARGET_FILE:control_server>")
	add_dependencies(${name} slabinfo control_server)
endfunction()

# slab_add_process_tests(NAME CLASS…): the test NAME.CLASS for each class of NAME.py, which looks at
# processes from outside (processes.py).
function(slab_add_process_tests name)
	foreach(class IN LISTS ARGN)
		add_test(NAME ${name}.${class} COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/${name}.py
			${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} ${class})
		set_tests_properties(${name}.${class} PROPERTIES LABELS tools TIMEOUT 600 COST 20)
	endforeach()
endfunction()

# slab_test_uses_go(TEST): Go compiles its library once for all tests, one after the other.
function(slab_test_uses_go test)
	set_tests_properties(${test} PROPERTIES RESOURCE_LOCK go
		ENVIRONMENT "SLAB_TEST_GOCACHE=${PROJECT_BINARY_DIR}/go")
endfunction()
