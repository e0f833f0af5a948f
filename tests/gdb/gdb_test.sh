#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: gdb_test.sh PROGRAM SCRIPT SLABINFO ENGINE LIBRARIES
#
# What the gdb commands say about PROGRAM when it has aborted, in the process and
# in its core file, where slabinfo counts the same objects. Addresses, times and thread ids become X.
set -eu
program=$1 script=$2 slabinfo=$3 engine=$4 libraries=$5
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export SLAB_ENGINE="$engine" SLAB_CONTROL=off LD_LIBRARY_PATH="$libraries"

set -- -ex 'slab info'
for object in allocated freed 'tracked + 3' tracked_freed sized 'large + 1' 'wide + 1' 'wide - 1' 'wide + 200000' legacy fresh in_array in_magazine \
	0x1234; do
	set -- "$@" -ex "slab object $object"
done

normal()
{
	grep -E '^(Name|plain|entry|old|size-|0x|object|slab |allocated|freed|    #[01])' |
		sed -E 's/0x[0-9a-f]+/X/g; s/(ago by|clock by) tid [0-9]+/\1 tid X/; s/ [0-9]+ ms ago/ T/
			s/^object +[0-9]+ (of its slab)/object  N \1/; s/ at [0-9]+ ms of the monotonic clock/ T/; s/CPU [0-9]+/CPU X/; s/:[0-9]+\)/:X)/
			s/used=[0-9]+: debug flags -/used=X: debug flags -/; s/ +$//'
}

gdb -q -batch -ex run -ex "source $script" "$@" -ex "generate-core-file $folder/core" \
	"$program" >"$folder/live" 2>&1 </dev/null
gdb -q -batch -ex "source $script" "$@" "$program" "$folder/core" >"$folder/dead" 2>&1 </dev/null
normal <"$folder/live" >"$folder/live.normal"
normal <"$folder/dead" >"$folder/dead.normal"

# Input that cannot be right gets one line each, and no Python stack.
# shellcheck disable=SC2016 # gdb's $
gdb -q -batch -ex run -ex "source $script" -ex 'echo commands\n' -ex 'slab info [' -ex 'slab object' \
	-ex 'slab object (' -ex 'slab object $nothing' -ex 'slab object -1' \
	-ex 'slab object "text"' "$program" 2>&1 </dev/null |
	sed '1,/^commands/d' >"$folder/bad"
cat >"$folder/bad.expected" <<END
'[' is no regular expression: unterminated character set at position 0
slab object needs an address or an expression that is one
END
head -n 2 "$folder/bad" | diff -u "$folder/bad.expected" - || exit 1
if grep -e Python -e Traceback "$folder/bad" || [ "$(wc -l <"$folder/bad")" -gt 6 ]; then
	cat "$folder/bad"
	exit 1
fi

cat >"$folder/expected" <<END
Name                       Objects  Objsize   Slabs  Flags
plain                            1       64       1  -
entry                            1       64       1  FZPU
old                              1       64       1  FZPU
size-32                          1       32       1  -
X is 0 bytes from the start of object X of cache plain (64 bytes)
object  N of its slab: allocated
slab    objects=256 used=X: debug flags -
X is 0 bytes from the start of object X of cache plain (64 bytes)
object  N of its slab: free, in an array or a magazine
slab    objects=256 used=X: debug flags -
X is 3 bytes from the start of object X of cache entry (64 bytes)
object  N of its slab: allocated
slab    objects=682 used=1: debug flags ZPU
allocated T by tid X (objects) on CPU X
    #0 entry_new (objects.c:X)
    #1 main (objects.c:X)
X is 0 bytes from the start of object X of cache entry (64 bytes)
object  N of its slab: free
slab    objects=682 used=1: debug flags ZPU
allocated T by tid X (objects) on CPU X
    #0 main (objects.c:X)
    #1 __libc_start_call_main (libc_start_call_main.h:X)
freed T by tid X (objects) on CPU X
    #0 main (objects.c:X)
    #1 __libc_start_call_main (libc_start_call_main.h:X)
X is 0 bytes from the start of object X of cache size-32 (32 bytes)
object  N of its slab: allocated
slab    objects=512 used=X: debug flags -
X is 1 bytes into 100000 bytes of slab_malloc()
X is 1 bytes into 100000 bytes of slab_malloc()
X is memory of libslab that no cache has: free, or its own
X is not memory of libslab
X is 0 bytes from the start of object X of cache old (64 bytes)
object  N of its slab: allocated
slab    objects=256 used=X: debug flags -, legacy layout
X is 0 bytes from the start of object X of cache plain (64 bytes)
object  N of its slab: never handed out
slab    objects=256 used=X: debug flags -
X is 0 bytes from the start of object X of cache held (64 bytes)
object  N of its slab: free, in an array or a magazine
slab    objects=256 used=X: debug flags -
X is 0 bytes from the start of object X of cache held (64 bytes)
object  N of its slab: free, in an array or a magazine
slab    objects=256 used=X: debug flags -
X is not memory of libslab
END
# glibc's own frames have names and lines only with its debug symbols.
for side in live dead; do
	grep -v '#1 .*libc' "$folder/$side.normal" >"$folder/a" || true
	grep -v '#1 .*libc' "$folder/expected" >"$folder/b"
	diff -u "$folder/b" "$folder/a" || {
		echo "gdb_test: $side differs; gdb said:"
		cat "$folder/$side"
		exit 1
	}
done

"$slabinfo" --core "$folder/core" --exe "$program" -lz . | awk '{ print $1, $2 }' | sort >"$folder/slabinfo"
awk '/^Name/ { rows = 1 } /^0x/ { exit } rows { print $1, $2 }' "$folder/dead" | sort |
	diff -u "$folder/slabinfo" -
