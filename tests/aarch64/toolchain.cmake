# SPDX-License-Identifier: MIT
#
# Debian's cross compiler for arm64, with the libraries that sysroot.sh brought into the folder
# SLAB_SYSROOT. The emulator marks the test programs in what ctest lists, which has
# no commands that do not exist; suite.py runs them.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SLAB_SYSROOT)

set(CMAKE_SYSROOT ${SLAB_SYSROOT})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${SLAB_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
	${SLAB_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${SLAB_SYSROOT}/usr/share/pkgconfig)
set(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_CURRENT_LIST_DIR}/emulated.sh)
