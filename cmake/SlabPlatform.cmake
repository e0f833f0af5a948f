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
check_symbol_exists(__GLIBC__ features.h SLAB_HAVE_GLIBC)
list(REMOVE_ITEM CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)

set(SLAB_PLATFORM_DEFINITIONS
	$<$<BOOL:${SLAB_HAVE_DL_FIND_OBJECT}>:SLAB_HAVE_DL_FIND_OBJECT=1>
	$<$<BOOL:${SLAB_HAVE_STRERRORDESC}>:SLAB_HAVE_STRERRORDESC=1>)

if(NOT SLAB_HAVE_GLIBC)
	message(WARNING "This C library is not glibc: libslab compiles with musl, but is not "
		"tested there; the engines are cmpxchg16b and mutex, and reports take the dynamic "
		"linker's lock.")
elseif(NOT SLAB_HAVE_DL_FIND_OBJECT)
	message(STATUS "glibc is older than 2.35: without restartable sequences the fastest "
		"engine is cmpxchg16b, and reports take the dynamic linker's lock.")
endif()
