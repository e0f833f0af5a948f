# SPDX-License-Identifier: MIT
#
# How the libraries are compiled and linked, apart from warnings, and where the
# results go.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
	set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

set(SLAB_SANITIZE "" CACHE STRING "sanitizers for everything, as in -fsanitize= (address,undefined)")
if(SLAB_SANITIZE)
	add_compile_options(-fsanitize=${SLAB_SANITIZE} -fno-sanitize-recover=all
		-fno-omit-frame-pointer)
	add_link_options(-fsanitize=${SLAB_SANITIZE})
endif()

# libFuzzer follows which code an input reaches.
option(SLAB_FUZZ "the targets of tests/fuzz as programs of libFuzzer: needs clang" OFF)
if(SLAB_FUZZ)
	add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Code of a shared library: calls inside the library go straight to their target (a program
# cannot put another slab_alloc() between), calls out of it through no stub. An archive can have
# the same objects.
function(slab_shared_code target)
	set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
	target_compile_options(${target} PRIVATE -fno-plt -fno-semantic-interposition)
endfunction()

# libslab.so. nodelete: threads may be inside a restartable sequence when the program calls
# dlclose(). static-libgcc: it contains the unwinder of its stacks, so a process on
# libslab_malloc.so does not load libgcc_s.so. eh-frame-hdr: what the unwinder reads, which gcc
# links anyway and musl-gcc does not.
function(slab_shared_options target map)
	slab_shared_code(${target})
	target_compile_definitions(${target} PRIVATE SLAB_SHARED=1)
	set_target_properties(${target} PROPERTIES
		VERSION ${PROJECT_VERSION}
		SOVERSION ${PROJECT_VERSION_MAJOR}
		LINK_DEPENDS ${map})
	target_link_options(${target} PRIVATE
		LINKER:--version-script=${map}
		LINKER:-Bsymbolic-functions
		-static-libgcc
		LINKER:--eh-frame-hdr
		LINKER:-z,now
		LINKER:-z,nodelete)
	if(NOT SLAB_SANITIZE)
		target_link_options(${target} PRIVATE LINKER:-z,defs)
	endif()
endfunction()

# Archives of machine code that can stand in a program and in a shared library. Such a
# library must not be unloaded: threads may be inside a restartable sequence, and the
# control thread runs its code.
option(SLAB_LTO "libslab-lto.a as well: for programs that gcc links with -flto" OFF)
function(slab_static_options target name)
	set_target_properties(${target} PROPERTIES
		OUTPUT_NAME ${name}
		POSITION_INDEPENDENT_CODE ON)
	target_link_options(${target} INTERFACE
		LINKER:--eh-frame-hdr
		$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,SHARED_LIBRARY>:LINKER:-z,nodelete>
		$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,MODULE_LIBRARY>:LINKER:-z,nodelete>)
endfunction()

# The library's own headers, "name.h" of cpu_cache/ and "room/name.h". For quoted includes
# alone: C++ libraries have folders named like rooms (<debug/debug.h>).
function(slab_internal_headers target scope)
	target_compile_options(${target} ${scope}
		"SHELL:-iquote ${PROJECT_SOURCE_DIR}/cpu_cache"
		"SHELL:-iquote ${PROJECT_SOURCE_DIR}/slab")
endfunction()

# An archive with AddressSanitizer and UndefinedBehaviorSanitizer in a build without: for
# the programs NAME.asan of cmake/SlabTests.cmake.
function(slab_asan_options target)
	target_compile_options(${target} PRIVATE -fsanitize=address,undefined
		-fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1)
	target_link_options(${target} INTERFACE -fsanitize=address,undefined)
endfunction()

# An archive that counts what is executed, for the programs NAME.coverage. Counts are written when
# a process ends; tests/coverage/counts.c has them written as well when it ends by abort() or
# _exit().
function(slab_coverage_options target)
	target_compile_options(${target} PRIVATE --coverage -fprofile-update=atomic -g1)
	target_link_options(${target} INTERFACE --coverage
		LINKER:-u,__wrap_abort,--wrap=abort,--wrap=_exit)
endfunction()

# Where the files of find_package(slab) go, and those of pkg-config: slab_install_pkgconfig(FILE)
# configures FILE.in, which finds its prefix from its own place.
set(SLAB_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/slab)
function(slab_install_pkgconfig path)
	set(places ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
	file(RELATIVE_PATH SLAB_PC_PREFIX ${places})
	string(REGEX REPLACE "/$" "" SLAB_PC_PREFIX "${SLAB_PC_PREFIX}")
	cmake_path(GET path FILENAME name)
	configure_file(${path}.in ${PROJECT_BINARY_DIR}/${name} @ONLY)
	install(FILES ${PROJECT_BINARY_DIR}/${name} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
