#!/bin/sh
# SPDX-License-Identifier: MIT
#
# instructions.sh [BUILD]: how many instructions an allocation and a free take.
#
# The rseq engine is counted in the disassembly of libslab.so, along every path
# through the restartable sequence (fastpath.py): valgrind hides rseq from the
# program, so callgrind would see another engine. That one, cmpxchg16b, and the
# mallocs are counted by callgrind: instructions inside the two functions and what
# they call, of 20000 warm pairs of 64 bytes, by the difference of two runs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build}
library=$build/lib/libslab.so
bin=$build/bin

if [ ! -e "$library" ] || [ ! -x "$bin/objects-slab" ]; then
	echo "instructions.sh: $library or $bin/objects-slab is not built" >&2
	exit 2
fi
for tool in objdump valgrind python3; do
	if ! command -v "$tool" >/dev/null; then
		echo "instructions.sh: $tool is not installed" >&2
		exit 1
	fi
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

# fast_path FUNCTION LIMIT
fast_path()
{
	objdump -d --no-show-raw-insn "$library" | awk "/<$1>:\$/,/^\$/" |
		python3 -B "$here/fastpath.py" "$1" "$2" 2>&1 || true
}

# collected LAPS ALLOC FREE PROGRAM PRELOAD: instructions of all processes
collected()
{
	rm -f "$work"/out.*
	LD_PRELOAD=$5 SLAB_CONTROL=off valgrind --tool=callgrind --quiet \
		--callgrind-out-file="$work/out.%p" --toggle-collect="$2" --toggle-collect="$3" \
		"$bin/$4" --cases pair --sizes 64 --laps "$1" >/dev/null 2>"$work/errors" || return 1
	cat "$work"/out.* | awk '$1 == "totals:" { sum += $2 } END { print sum + 0 }'
}

# pair NAME ALLOC FREE PROGRAM [PRELOAD]
pair()
{
	preload=
	if [ $# -gt 4 ]; then
		preload=$(find /usr/lib /usr/local/lib -name "$5" 2>/dev/null | head -n 1)
		[ -n "$preload" ] || return 0
	fi
	[ -x "$bin/$4" ] || return 0
	few=$(collected 1 "$2" "$3" "$4" "$preload") || few=0
	many=$(collected 3 "$2" "$3" "$4" "$preload") || many=0
	if [ "$many" -gt "$few" ]; then
		printf '%-16s%s\n' "$1" "$(((many - few + 10000) / 20000))"
	else
		printf '%-16scannot be counted\n' "$1"
	fi
}

echo "Fast paths of the rseq engine, one call (each count is one way through it):"
fast_path slab_alloc 16
fast_path slab_free 21
echo
echo "Instructions of a pair of 64 bytes under callgrind:"
pair slab-cmpxchg16b slab_alloc slab_free objects-slab
pair glibc malloc free objects-malloc
pair jemalloc malloc free objects-malloc libjemalloc.so.2
pair tcmalloc malloc free objects-malloc libtcmalloc_minimal.so.4
pair mimalloc malloc free objects-malloc libmimalloc.so.2
