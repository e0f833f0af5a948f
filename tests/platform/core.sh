#!/bin/sh
# SPDX-License-Identifier: MIT
#
# For other scripts to read: core_build CMAKE SOURCE-FOLDER BUILD-FOLDER [OPTION...] builds libslab
# and libslab_malloc alone.
fail()
{
	echo "$(basename "$0"): $*"
	exit 1
}

core_build()
{
	core_cmake=$1 core_source=$2 core_folder=$3
	shift 3
	mkdir -p "$core_folder"
	rm -f "$core_folder/CMakeCache.txt" # with another compiler it would lose the options
	if ! "$core_cmake" -S "$core_source" -B "$core_folder" -G Ninja \
		-DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O0 -DNDEBUG" \
		-DSLAB_BUILD_DIRSRV=OFF -DSLAB_BUILD_TOOLS=OFF \
		-DSLAB_BUILD_EXPORTER=OFF -DSLAB_BUILD_EXAMPLES=OFF "$@" \
		>"$core_folder/log" 2>&1; then
		cat "$core_folder/log"
		fail "it is not configured"
	fi
	"$core_cmake" --build "$core_folder" -- --quiet >"$core_folder/build.log" 2>&1 || {
		cat "$core_folder/build.log"
		fail "it does not build"
	}
}

# use_library PROGRAM ENGINE...: the program does its work on these engines, and an overflow is
# reported with the function that allocated.
use_library()
{
	program=$1
	shift
	for engine in "$@"; do
		got=$(SLAB_ENGINE=$engine "$program") || fail "$program fails with the engine $engine"
		[ "$got" = "$engine" ] || fail "the engine is $got, not $engine"
	done
	SLAB_DEBUG=FZPU,victim SLAB_LOG=$program.log "$program" overflow >/dev/null ||
		fail "$program overflow fails"
	for text in 'BUG victim: Right Redzone overwritten' 'Allocated in ' "$(basename "$program")+0x"; do
		grep -qF "$text" "$program.log" || {
			cat "$program.log"
			fail "the report does not have '$text'"
		}
	done
	# main() and what called it: more than the address that slab_alloc() returns to.
	[ "$(grep -c '^	' "$program.log")" -ge 4 ] || {
		cat "$program.log"
		fail "the report has no stacks"
	}
	rm -f "$program.log"
}
