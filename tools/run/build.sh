# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # the lists of packages.sh
#
# Configuring and compiling.

# configure PRESET: quietly; what CMake says is shown when it fails.
configure()
{
	log=$(mktemp)
	if ! cmake --preset "$1" >"$log" 2>&1; then
		cat "$log" >&2
		rm -f "$log"
		exit 1
	fi
	rm -f "$log"
}

# build PRESET [TARGET...]: say what is built, and compile it.
build()
{
	preset=$1
	shift
	say "building: $preset${*:+, $*}"
	compile "$preset" "$@"
}

# compile PRESET [TARGET...]: configure, then compile those targets, or all, with progress on a
# terminal.
compile()
{
	preset=$1
	shift
	configure "$preset"
	[ $# -eq 0 ] || set -- --target "$@"
	if [ -t 1 ]; then
		cmake --build --preset "$preset" "$@"
	else
		cmake --build --preset "$preset" "$@" -- --quiet
	fi
}

# The parts above libslab, without their tests.
parts="dirsrv/all malloc/all tools/all tools/libinspect/all examples/all benchmarks/all"
# All but the tests, which take longer to compile than the rest; ./run test builds them.
programs="slab slab_static slab_lto slab_dirsrv docs/man/all $parts"

cmd_build()
{
	# shellcheck disable=SC2086
	need "building" $compile_packages
	say "building: release, without the tests"
	# shellcheck disable=SC2086
	compile release $programs
	say "built: build/bin and build/lib; cmake --install build --prefix PREFIX installs them"
}

# build_beside FOLDER TARGET: compile in the background what is needed later. Tests mostly
# wait, so the CPUs have time for it; and it has none that a test wants. Errors are shown by
# the build that follows in the foreground.
build_beside()
{
	nice -n 19 ninja -C "$1" "$2" >/dev/null 2>&1 </dev/null &
	beside=$!
	trap 'kill $beside 2>/dev/null' EXIT
	trap 'exit 130' HUP INT TERM
}

# build_finish PRESET TARGET: the end of what build_beside() began.
build_finish()
{
	say "building: $1: $2, begun beside the tests"
	wait "$beside" || true
	trap - EXIT HUP INT TERM
	build "$@"
}
