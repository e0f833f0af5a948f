# SPDX-License-Identifier: MIT
#
# What the machine and the C library must have, and what libslab does without. Each
# shortcoming is one sentence at configure time.

include(CheckSymbolExists)

if(NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
	message(FATAL_ERROR "libslab needs 64-bit pointers: -m32 and -mx32 are not supported.")
endif()

list(APPEND CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)
check_symbol_exists(_dl_find_object dlfcn.h SLAB_HAVE_DL_FIND_OBJECT)
check_symbol_exists(strerrordesc_np string.h SLAB_HAVE_STRERRORDESC)
check_symbol_exists(pthread_mutex_clocklock pthread.h SLAB_HAVE_MUTEX_CLOCKLOCK)
check_symbol_exists(__GLIBC__ features.h SLAB_HAVE_GLIBC)
list(REMOVE_ITEM CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)

# Of what libslab uses, _dl_find_object() alone is newer than 2.34. Below that no option helps: a
# program linked with glibc 2.34 or newer needs 2.34, into which the thread functions moved.
set(SLAB_GLIBC "" CACHE STRING "the oldest glibc that the libraries run with: 2.34 (RHEL 9), or as here")
if(SLAB_GLIBC AND SLAB_GLIBC VERSION_LESS 2.34)
	message(FATAL_ERROR "SLAB_GLIBC is 2.34 or newer, not '${SLAB_GLIBC}': for an older glibc, "
		"build libslab on a machine that has it.")
endif()
set(SLAB_USE_DL_FIND_OBJECT ${SLAB_HAVE_DL_FIND_OBJECT})
if(SLAB_GLIBC AND SLAB_GLIBC VERSION_LESS 2.35)
	set(SLAB_USE_DL_FIND_OBJECT OFF)
endif()

set(SLAB_PLATFORM_DEFINITIONS
	$<$<BOOL:${SLAB_USE_DL_FIND_OBJECT}>:SLAB_HAVE_DL_FIND_OBJECT=1>
	$<$<BOOL:${SLAB_HAVE_MUTEX_CLOCKLOCK}>:SLAB_HAVE_MUTEX_CLOCKLOCK=1>
	$<$<BOOL:${SLAB_HAVE_STRERRORDESC}>:SLAB_HAVE_STRERRORDESC=1>)

# Sanitizers bring a malloc() of their own.
set(SLAB_BUILD_MALLOC ON)
if(SLAB_SANITIZE)
	set(SLAB_BUILD_MALLOC OFF)
endif()

if(NOT SLAB_HAVE_GLIBC)
	message(STATUS "This C library is not glibc: the "
		"engines are cmpxchg16b and mutex, and reports take the dynamic linker's lock.")
elseif(NOT SLAB_HAVE_DL_FIND_OBJECT)
	message(STATUS "glibc is older than 2.35: without restartable sequences the fastest "
		"engine is cmpxchg16b, and reports take the dynamic linker's lock.")
elseif(NOT SLAB_USE_DL_FIND_OBJECT)
	message(STATUS "For glibc ${SLAB_GLIBC}: reports take the dynamic linker's lock.")
endif()
