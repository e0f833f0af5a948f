#!/bin/sh
# SPDX-License-Identifier: MIT
#
# symbols.sh MAP SYMBOLS SONAME: the symbols file of a Debian package is that of SONAME, and has
# each function of the version script with its node, and no other.
set -eu
export LC_ALL=C

map=$1 symbols=$2 soname=$3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Functions without a node are @Base; a node is a symbol itself.
awk '
	/^[A-Z_0-9.]* ?\{/ { node = $1 == "{" ? "Base" : $1; if (node != "Base") print node "@" node }
	/^local:/ { exit }
	/^\t[A-Za-z_0-9]+;/ { sub(/^\t/, ""); sub(/;.*/, ""); print $0 "@" node }' "$map" |
	sort >"$tmp/map"
sed -n 's/^ \([^ ]*\) .*/\1/p' "$symbols" | sort >"$tmp/symbols"
diff -u "$tmp/map" "$tmp/symbols" || {
	echo "abi: - only in: $map, + only in: $symbols"
	exit 1
}
[ "$(head -n 1 "$symbols" | cut -d ' ' -f 1)" = "$soname" ] || {
	echo "abi: $symbols is not of $soname"
	exit 1
}
