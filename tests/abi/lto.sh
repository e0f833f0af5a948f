#!/bin/sh
# SPDX-License-Identifier: MIT
#
# lto.sh SOURCE-DIR COMPILER: does link-time optimization put the fast paths into their caller,
# and the handlers of aborted sequences into a section of their own?
# Links one of a program's functions with slab/alloc/fastpath.c and looks at its calls.
set -eu
source=$1
compiler=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

compile()
{
	"$compiler" -std=gnu11 -O2 -flto -fPIC -D_GNU_SOURCE -I"$source/include" "$@"
}

compile -DSLAB_LIBRARY=1 -iquote "$source/cpu_cache" -iquote "$source/slab" \
	-c "$source/slab/alloc/fastpath.c" -o "$work/fastpath.o"
compile -c "$source/tests/abi/lto_user.c" -o "$work/user.o"
"$compiler" -O2 -flto -r -nostdlib -flinker-output=nolto-rel \
	"$work/user.o" "$work/fastpath.o" -o "$work/both.o"
objdump -dr --no-show-raw-insn --disassemble=lto_pair "$work/both.o" > "$work/text"
if ! grep -q '<lto_pair>:' "$work/text"; then
	echo "lto_pair is not in the object"
	exit 1
fi
if grep -E '[[:space:]](slab_alloc|slab_free)([-+ ]|$)|<(slab_alloc|slab_free)(\+0x[0-9a-f]+)?>' "$work/text"; then
	echo "lto_pair calls a fast path"
	exit 1
fi
# Behind a sequence's commit its abort handler would be run, and its signature (ud1) trap.
misplaced=$(objdump -d "$work/both.o" | awk '
	/^Disassembly of section/ { section = $4 }
	/[[:space:]]ud1[[:space:]]/ && section !~ /slab\.\.abort/ { print section }' | sort -u)
if [ -n "$misplaced" ]; then
	echo "abort handlers stand in $misplaced"
	exit 1
fi
