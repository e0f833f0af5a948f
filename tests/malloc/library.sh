#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What libslab_malloc.so exports and needs, and that neither library may need the dynamic linker's
# malloc() for thread-local data.
# usage: library.sh LIBSLAB_MALLOC LIBSLAB LIBSLAB_ARCHIVE MAP
set -eu
export LC_ALL=C

library=$1 slab=$2 archive=$3 map=$4
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail()
{
	echo "library: $*"
	exit 1
}

sed '/^local:/,$d' "$map" | sed -nE 's/^[[:space:]]*([A-Za-z_0-9]+);.*/\1/p' | sort >"$tmp/mapped"
nm -D --defined-only "$library" | awk '{ print $3 }' | sort >"$tmp/exported"
diff -u "$tmp/mapped" "$tmp/exported" || fail "- only in $map, + only in $library"

readelf -dW "$library" >"$tmp/dynamic"
needed=$(sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' "$tmp/dynamic" | grep -v '^ld-linux' | sort | tr '\n' ' ')
[ "$needed" = "libc.so.6 libslab.so.0 " ] || fail "it needs $needed"
grep -q 'Library soname: \[libslab_malloc.so.0\]' "$tmp/dynamic" || fail "another soname"
grep -q 'INITFIRST' "$tmp/dynamic" || fail "its constructor is not the first one"
grep -q 'NODELETE' "$tmp/dynamic" || fail "it can be unloaded"

for file in "$library" "$slab" "$archive"; do
	if nm "$file" 2>/dev/null | grep -q ' U __tls_get_addr'; then
		fail "$file has thread-local data that is not in the initial-exec model"
	fi
done
# Relative relocations of the archive's code fit into every kind of program.
if readelf -rW "$archive" | grep -q R_X86_64_32S; then
	fail "$archive is not position-independent"
fi
