# SPDX-License-Identifier: MIT
#
# Which parts are built. libslab and libslab_malloc always are: they need a C
# compiler and nothing else.

option(SLAB_BUILD_DIRSRV "libslab_dirsrv; needs liburcu" ON)
option(SLAB_BUILD_TOOLS "slabinfo, slab-symbolize, slab-perf; needs json-c, elfutils, ncurses, zlib"
	${PROJECT_IS_TOP_LEVEL})
option(SLAB_BUILD_EXPORTER "slab-exporter; needs json-c, elfutils, libmicrohttpd"
	${PROJECT_IS_TOP_LEVEL})
option(SLAB_BUILD_EXAMPLES "the examples; with SLAB_BUILD_DIRSRV also ldapd: LMDB, libldap, libcrypt"
	${PROJECT_IS_TOP_LEVEL})

set(parts DIRSRV TOOLS EXPORTER EXAMPLES)
set(missing "")
foreach(part IN LISTS parts)
	if(NOT SLAB_BUILD_${part})
		list(APPEND missing SLAB_BUILD_${part})
	endif()
endforeach()
set(everything ${PROJECT_IS_TOP_LEVEL})
if(missing)
	set(everything OFF)
endif()
option(SLAB_BUILD_BENCHMARKS "the benchmarks; needs all parts above" ${everything})
option(SLAB_BUILD_TESTS "the tests; needs all parts above, and GoogleTest" ${everything})

list(JOIN missing ", " missing)
if(missing AND (SLAB_BUILD_BENCHMARKS OR SLAB_BUILD_TESTS))
	message(FATAL_ERROR "Tests and benchmarks run programs of all parts, but ${missing} is OFF: "
		"set SLAB_BUILD_TESTS and SLAB_BUILD_BENCHMARKS to OFF as well.")
endif()
if(SLAB_BUILD_TESTS AND NOT SLAB_BUILD_BENCHMARKS)
	message(FATAL_ERROR "The tests run the benchmarks, but SLAB_BUILD_BENCHMARKS is OFF: "
		"set SLAB_BUILD_TESTS to OFF as well.")
endif()

if(SLAB_BUILD_DIRSRV OR SLAB_BUILD_TOOLS OR SLAB_BUILD_EXPORTER)
	find_package(PkgConfig REQUIRED)
endif()
if(SLAB_BUILD_TOOLS OR SLAB_BUILD_EXPORTER)
	pkg_check_modules(JSONC REQUIRED IMPORTED_TARGET json-c)
endif()
