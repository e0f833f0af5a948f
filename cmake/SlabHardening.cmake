# SPDX-License-Identifier: MIT
#
# How what is installed resists exploits (docs/security.md). Debian's compiler links with relro
# and makes programs position-independent by default; others may not.

include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

set(SLAB_HARDENING_COMPILE -fstack-protector-strong)
set(SLAB_HARDENING_LINK LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
# Marked targets of indirect branches, and code that goes with shadow stacks or signed return
# addresses.
set(SLAB_HARDENING_BRANCHES "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
	set(SLAB_HARDENING_BRANCHES -fcf-protection=full)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
	set(SLAB_HARDENING_BRANCHES -mbranch-protection=standard)
endif()

# slab_harden(TARGET [NO_BRANCHES])
function(slab_harden target)
	cmake_parse_arguments(arg "NO_BRANCHES" "" "" ${ARGN})
	target_compile_options(${target} PRIVATE ${SLAB_HARDENING_COMPILE})
	if(NOT arg_NO_BRANCHES)
		target_compile_options(${target} PRIVATE ${SLAB_HARDENING_BRANCHES})
	endif()
	get_target_property(type ${target} TYPE)
	if(type MATCHES "SHARED_LIBRARY|EXECUTABLE")
		target_link_options(${target} PRIVATE ${SLAB_HARDENING_LINK})
	endif()
	if(type STREQUAL EXECUTABLE)
		set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
	endif()
endfunction()
