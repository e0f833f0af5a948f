#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The headers of caches and memory leave <features.h> alone: a file may choose _GNU_SOURCE
# behind them.
# usage: features.sh CC CXX INCLUDE-FOLDER
set -eu

cc=$1 cxx=$2 include=$3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

for header in slab.h malloc.h pointer.h nofail.h define.h; do
	printf '#include <slab/%s>\n' "$header" >"$tmp/use.c"
	for compiler in "$cc -std=c11" "$cxx -x c++ -std=c++14"; do
		# shellcheck disable=SC2086
		$compiler -I"$include" -M "$tmp/use.c" >"$tmp/files"
		if grep -q 'features\.h' "$tmp/files"; then
			echo "features: <slab/$header> includes <features.h> ($compiler):"
			cat "$tmp/files"
			exit 1
		fi
	done
done

# uint64_t is the same type as that of <stdint.h>, in either order.
printf '#include <slab/slab.h>\n#include <stdint.h>\n' >"$tmp/before.c"
printf '#include <stdint.h>\n#include <slab/slab.h>\n' >"$tmp/after.c"
for file in before after; do
	printf 'uint64_t *pointer(unsigned long *number);\nuint64_t *pointer(unsigned long *number)\n{\n\treturn number;\n}\n' >>"$tmp/$file.c"
	"$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$include" -c -o "$tmp/out.o" "$tmp/$file.c"
	"$cxx" -x c++ -std=c++14 -Wall -Wextra -Wpedantic -Werror -I"$include" -c -o "$tmp/out.o" \
		"$tmp/$file.c"
done
