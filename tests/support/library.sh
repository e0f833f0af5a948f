#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What tests of a preloaded library have in common; sourced. $tmp is a folder that is removed at exit.
export LC_ALL=C
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail()
{
	echo "library: $*"
	exit 1
}

# check_library LIBRARY MAP: it exports what the version script lists, needs libslab and libc alone,
# and stays loaded. What it says of itself is then in $tmp/dynamic.
check_library()
{
	sed '/^local:/,$d' "$2" | sed -nE 's/^[[:space:]]*([A-Za-z_0-9]+);.*/\1/p' | sort >"$tmp/mapped"
	nm -D --defined-only "$1" | awk '{ print $3 }' | sort >"$tmp/exported"
	diff -u "$tmp/mapped" "$tmp/exported" || fail "- only in $2, + only in $1"

	readelf -dW "$1" >"$tmp/dynamic"
	needed=$(sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' "$tmp/dynamic" | grep -v '^ld-linux' | sort | tr '\n' ' ')
	[ "$needed" = "libc.so.6 libslab.so.0 " ] || fail "it needs $needed"
	grep -q 'NODELETE' "$tmp/dynamic" || fail "it can be unloaded"
}

# check_thread_data FILE: its thread-local data needs no malloc() of the dynamic linker.
check_thread_data()
{
	if nm "$1" 2>/dev/null | grep -q ' U __tls_get_addr'; then
		fail "$1 has thread-local data that is not in the initial-exec model"
	fi
}
