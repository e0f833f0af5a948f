#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The interface of a library is what its headers declare with SLAB_API, no
# more and no less. Three lists must be equal: the functions of the headers,
# those of the version script, and the symbols of the library.
# usage: check.sh LIBRARY MAP SONAME NODE HEADER…
set -eu
export LC_ALL=C

library=$1 map=$2 soname=$3 node=$4
shift 4
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Declarations may span lines, and a comment may mention SLAB_API.
declared()
{
	for header; do
		grep -v '^ *#' "$header" | tr '\n' ' ' | sed 's@/\*@\n/*@g; s@\*/@*/\n@g' |
			grep -v '^/\*' | tr '\n' ' ' | grep -oE 'SLAB_API(_HOT|_SITE)? [^;(]*\(' || true
	done | sed -E 's/.*[ *]([a-z_0-9]+) *\($/\1/' | sort
}

# The names of the version script: one a line, before "local:".
mapped()
{
	sed '/^local:/,$d' "$map" | sed -nE 's/^[[:space:]]*([a-z_0-9]+);.*/\1/p' | sort
}

# Exported symbols without their version; the version nodes themselves are absolute.
exported()
{
	nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort
}

same()
{
	if ! diff -u "$tmp/$1" "$tmp/$2"; then
		echo "abi: - only in: $3, + only in: $4"
		exit 1
	fi
}

declared "$@" >"$tmp/declared"
mapped >"$tmp/mapped"
exported >"$tmp/exported"
same declared mapped "the headers" "$map"
same mapped exported "$map" "$library"

if ! readelf -d "$library" | grep -qF "Library soname: [$soname]"; then
	echo "abi: the soname of $library is not $soname"
	exit 1
fi
newest=$(sed -nE 's/^(SLAB_[A-Z_]*[0-9.]+) \{.*/\1/p' "$map" | tail -n 1)
if [ "$newest" != "$node" ]; then
	echo "abi: the newest node of $map is $newest, the project's version wants $node"
	exit 1
fi
echo "abi: $(wc -l <"$tmp/exported") functions, as declared"
