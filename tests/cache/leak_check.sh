#!/bin/sh
# SPDX-License-Identifier: MIT
#
# SLAB_LEAK_CHECK=exit: what leak_program leaves behind is reported when it exits, and only then.
# usage: leak_check.sh PROGRAM STATIC-PROGRAM
#
# shellcheck disable=SC2317 # functions are called by name: reports()
set -u

program=$1 static=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failures=0

# run HOW [NAME=VALUE...]: what the program writes, with numbers that differ from run to run
# replaced, and stacks cut off below the program.
run()
{
	how=$1
	shift
	env SLAB_CONTROL=off SLAB_LEAK_CHECK=exit "$@" "$program" "$how" 2>&1 |
		sed -E 's/\+0x[0-9a-f]+ \([^ )]*\+0x[0-9a-f]+\)/+N (PROGRAM+N)/' |
		awk '/^\t/ { if (!below) print; if (/^\tmain/) below = 1; next } { below = 0; print }'
}

# silent HOW [NAME=VALUE...]
silent()
{
	run "$@" >"$tmp/got"
	if [ -s "$tmp/got" ]; then
		echo "leak_check: $1: expected nothing, got"
		cat "$tmp/got"
		failures=$((failures + 1))
	fi
}

# heading CACHE
heading()
{
	printf '%077d\n' 0 | tr 0 =
	printf 'BUG %s: Objects remaining in %s at exit\n' "$1" "$1"
	printf '%077d\n\n' 0 | tr 0 -
}

# callers: below the function that allocates
callers()
{
	printf '\tleave_objects+N (PROGRAM+N)\n\tmain+N (PROGRAM+N)\n'
}

tracked()
{
	heading created
	printf '1 object remains: 24 bytes\n1 of them allocated by\n'
	callers
	heading request
	printf '3 objects remain: 408 bytes\n'
	printf '2 of them allocated by\n\trequest_make+N (PROGRAM+N)\n'
	callers
	printf '1 of them allocated by\n\trequest_copy+N (PROGRAM+N)\n'
	callers
	heading size-64
	printf '1 object remains: 64 bytes\n'
	printf '1 of them allocated by\n\tstring_make+N (PROGRAM+N)\n'
	callers
	heading size-large
	printf '102400 bytes remain\n'
}

untracked()
{
	heading created
	printf '1 object remains: 24 bytes\nSLAB_DEBUG=U,created shows where they were allocated\n'
	heading request
	printf '3 objects remain: 408 bytes\nSLAB_DEBUG=U,request shows where they were allocated\n'
	heading size-64
	printf '1 object remains: 64 bytes\nSLAB_DEBUG=U,size-64 shows where they were allocated\n'
	heading size-large
	printf '102400 bytes remain\n'
}

# reports KIND HOW [NAME=VALUE...]: the same as the function KIND writes.
reports()
{
	"$1" >"$tmp/expected"
	shift
	run "$@" >"$tmp/got"
	if ! diff -u "$tmp/expected" "$tmp/got"; then
		echo "leak_check: $*: another report"
		failures=$((failures + 1))
	fi
}

for both in "$program" "$static"; do
	program=$both
	reports tracked return SLAB_DEBUG=U
	reports tracked exit SLAB_DEBUG=U
	reports untracked exit
	reports untracked fork
	reports untracked exit SLAB_ENGINE=mutex
	silent clean
	silent clean SLAB_DEBUG=U
	silent _exit
	silent quick_exit
	silent signal
	silent exit SLAB_LEAK_CHECK=off
	silent exit SLAB_LEAK_CHECK=
done

# Other threads go on meanwhile.
run threads | grep -q '^3 objects remain: 408 bytes$' || {
	echo "leak_check: no report beside a thread"
	failures=$((failures + 1))
}

# The log is where reports go.
env SLAB_CONTROL=off SLAB_LEAK_CHECK=exit SLAB_LOG="$tmp/log" "$program" exit
grep -q '^BUG request: Objects remaining in request at exit$' "$tmp/log" || {
	echo "leak_check: nothing in the log"
	failures=$((failures + 1))
}

# A setuid program reads no variables. Only root can make one of another user.
if [ "$(id -u)" = 0 ]; then
	cp "$static" "$tmp/secure"
	chmod 755 "$tmp"
	chown 65534 "$tmp/secure"
	chmod 4755 "$tmp/secure"
	status=0
	SLAB_CONTROL=off SLAB_LEAK_CHECK=exit "$tmp/secure" secure >"$tmp/got" 2>&1 || status=$?
	# 77: the file system takes no setuid programs.
	if [ "$status" != 77 ] && { [ "$status" != 0 ] || [ -s "$tmp/got" ]; }; then
		echo "leak_check: a setuid program: exit status $status"
		cat "$tmp/got"
		failures=$((failures + 1))
	fi
fi
exit "$((failures != 0))"
