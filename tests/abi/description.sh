#!/bin/sh
# SPDX-License-Identifier: MIT
#
# description.sh LIBRARY DESCRIPTION HEADER-FOLDER: the binary interface of the library, its functions
# and the types of its headers, is still the one in DESCRIPTION, which abidw of libabigail wrote. What
# is allowed is to add a function, and to add members at the end of a struct whose size the
# program passes (allowed.abignore).
#
# UPDATE=1 writes the file instead: see README.md for when.
set -eu

library=$1 description=$2 headers=$3
root=$(cd "${0%/*}/../.." && pwd)
now=$(mktemp)
trap 'rm -f "$now"' EXIT

abidw --headers-dir "$headers" --drop-private-types --exported-interfaces-only --no-show-locs \
	--no-corpus-path --no-comp-dir-path --type-id-style hash --out-file "$now" "$library"
if [ "${UPDATE:-}" = 1 ]; then
	{
		sed -n 1p "$now"
		echo "  <!-- SPDX-License-Identifier: MIT -->"
		sed 1d "$now"
	} | sed "s|path='$root/|path='|" >"$description"
	exit
fi
abidiff --no-added-syms --suppressions "${0%/*}/allowed.abignore" "$description" "$now" || {
	echo "abi: programs that were compiled with the interface in $description do not work any more"
	exit 1
}
