#!/bin/sh
# SPDX-License-Identifier: MIT
#
# instructions.sh [BUILD]: how many instructions an allocation and a free take with the rseq engine:
# in the disassembly of libslab.so, along every path through the restartable sequence (fastpath.py).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
library=${1:-$here/../../build}/lib/libslab.so

if [ ! -e "$library" ]; then
	echo "instructions.sh: $library is not built" >&2
	exit 2
fi

# fast_path FUNCTION LIMIT
fast_path()
{
	objdump -d --no-show-raw-insn "$library" | awk "/<$1>:\$/,/^\$/" |
		python3 -B "$here/fastpath.py" "$1" "$2" 2>&1 || true
}

fast_path slab_alloc 16
fast_path slab_free 21
