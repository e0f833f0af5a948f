#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What libslab_malloc.so exports and needs, and that neither library may need the dynamic linker's
# malloc() for thread-local data.
# usage: library.sh LIBSLAB_MALLOC LIBSLAB LIBSLAB_ARCHIVE MAP
set -eu
# shellcheck source=SCRIPTDIR/../support/library.sh
. "$(dirname "$0")/../support/library.sh"

library=$1 slab=$2 archive=$3 map=$4

check_library "$library" "$map"
grep -q 'Library soname: \[libslab_malloc.so.0\]' "$tmp/dynamic" || fail "another soname"
grep -q 'INITFIRST' "$tmp/dynamic" || fail "its constructor is not the first one"

# Each further library would cost every process its loading.
needed=$(readelf -dW "$slab" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' | grep -v '^ld-linux' | tr '\n' ' ')
[ "$needed" = "libc.so.6 " ] || fail "libslab needs $needed"

for file in "$library" "$slab" "$archive"; do
	check_thread_data "$file"
done
# A plug-in gets static thread-local data from a small reserve.
bytes=$(readelf -lW "$slab" | awk '$1 == "TLS" { print $6 }')
[ $((bytes)) -le 192 ] || fail "libslab needs $((bytes)) bytes of thread-local data"
# Relative relocations of the archive's code fit into every kind of program.
if readelf -rW "$archive" | grep -q R_X86_64_32S; then
	fail "$archive is not position-independent"
fi
