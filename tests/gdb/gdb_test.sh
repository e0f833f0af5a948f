#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: gdb_test.sh PROGRAM SCRIPT ENGINE
#
# What the gdb commands say about PROGRAM when it has aborted, in the process and
# in its core file. Addresses, times and thread ids become X.
set -eu
program=$1 script=$2 engine=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export SLAB_ENGINE="$engine" SLAB_CONTROL=off

set -- -ex 'slab info'
for object in allocated freed 'tracked + 3' tracked_freed sized 'large + 1' 'wide + 1' 'wide - 1' 'wide + 200000' legacy fresh in_lifo in_magazine \
	0x1234; do
	set -- "$@" -ex "slab object $object"
done

normal()
{
	grep -E '^(Name|plain|entry|old|size-|0x|object|slab |allocated|freed|    #[01])' |
		sed -E 's/0x[0-9a-f]+/X/g; s/(ago by|clock by) tid [0-9]+/\1 tid X/; s/ [0-9]+ ms ago/ T/
			s/ at [0-9]+ ms of the monotonic clock/ T/; s/CPU [0-9]+/CPU X/; s/node [0-9]+/node X/; s/:[0-9]+\)/:X)/
			s/ +$//'
}

gdb -q -batch -ex run -ex "source $script" "$@" -ex "generate-core-file $folder/core" \
	"$program" >"$folder/live" 2>&1 </dev/null
gdb -q -batch -ex "source $script" "$@" "$program" "$folder/core" >"$folder/dead" 2>&1 </dev/null
normal <"$folder/live" >"$folder/live.normal"
normal <"$folder/dead" >"$folder/dead.normal"

# All objects of a cache, its checks and its call sites, in the process and in the core file. In `old`
# the object after its only one is never handed out; the program has damaged nothing.
many()
{
	grep -E '^(0x|[a-z]+ +[0-9]+ slabs|[0-9]+ objects|entry: | +1 objects|    #0|BUG)' |
		sed -E 's/^0x[0-9a-f]+/X/; s/, the oldest .*/, T/; s/:[0-9]+\)/:X)/; s/CPU [0-9]+/CPU X/; s/node [0-9]+/node X/' |
		uniq -c | sed -E 's/^ +//'
}
set -- -ex 'slab objects entry allocated' -ex 'slab objects old' -ex 'slab objects held free' -ex 'slab verify' -ex 'slab traces entry'
gdb -q -batch -ex run -ex "source $script" "$@" "$program" 2>&1 </dev/null | many >"$folder/many.live"
gdb -q -batch -ex "source $script" "$@" "$program" "$folder/core" 2>&1 </dev/null | many >"$folder/many.dead"
# Where the free objects of `held` are depends on the engine; there are 690 in each.
grep -v ' X free' "$folder/many.live" >"$folder/many"
cat >"$folder/many.expected" <<END
1 X allocated
1 1 objects of cache entry
1 X allocated
END
head -n 3 "$folder/many" | diff -u "$folder/many.expected" - || exit 1
for line in '1 690 objects of cache held' '1 plain +1 slabs: no problems found' \
	'1 held +5 slabs: no problems found' '1 entry: allocated objects by call site' \
	'1     #0 entry_new \(objects.c:X\)'; do
	grep -Eqx -- "$line" "$folder/many" || { echo "gdb_test: no line is \"$line\""; cat "$folder/many"; exit 1; }
done
if grep BUG "$folder/many"; then
	exit 1
fi
diff -u "$folder/many.live" "$folder/many.dead" || { echo "gdb_test: the core file differs"; exit 1; }

# One byte behind an object, and one entry of a freelist.
gdb -q -batch -ex run -ex "source $script" -ex 'set var tracked[64] = 1' -ex 'slab verify entry' \
	-ex 'set var tracked[64] = (char)0xcc' -ex 'slab verify entry' \
	-ex 'set var ((struct slab_cache *)registry_first)->node[0].partial.count += 2' -ex 'slab verify plain' \
	"$program" 2>&1 </dev/null | grep -E '^(BUG|[a-z]+ +[0-9]+ slabs)' | sed -E 's/0x[0-9a-f]{8,}/X/g' >"$folder/damaged"
cat >"$folder/damaged.expected" <<END
BUG entry: Right Redzone overwritten: X, first byte 0x01 instead of 0xcc, object X
entry                   1 slabs: 1 problems found
entry                   1 slabs: no problems found
END
head -n 3 "$folder/damaged" | diff -u "$folder/damaged.expected" - || exit 1
grep -q '^BUG plain: .* slabs on the partial list of node 0 but counter=' "$folder/damaged" || {
	cat "$folder/damaged"
	exit 1
}

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

case $engine in
rseq)
	freed='free: in the LIFO of CPU X' used=64
	in_lifo='free: in the LIFO of CPU X' in_magazine='free: in a magazine of node X'
	lifo_used=256 magazine_used=256 held_state=full
	;;
*)
	freed=free used=1
	in_lifo=free in_magazine=free lifo_used=0 magazine_used=2 held_state='owned by CPU X'
	;;
esac
cat >"$folder/expected" <<END
Name                       Objects  Objsize   Slabs  Flags   Cache
$(printf '%-28s %5s' plain "$used")       64       1  -       X
entry                            1       64       1  FZPU    X
old                              1       64       1  FZPU    X
size-32                          1       32       1  -       X
X is 0 bytes from the start of object X of cache plain (64 bytes)
object  0 of its slab: allocated
slab    X objects=256 used=$used: owned by CPU X
X is 0 bytes from the start of object X of cache plain (64 bytes)
object  1 of its slab: $freed
slab    X objects=256 used=$used: owned by CPU X
X is 3 bytes from the start of object X of cache entry (64 bytes)
object  0 of its slab: allocated
slab    X objects=682 used=1: debug flags ZPU
allocated T by tid X (objects) on CPU X
    #0 entry_new (objects.c:X)
    #1 main (objects.c:X)
X is 0 bytes from the start of object X of cache entry (64 bytes)
object  1 of its slab: free
slab    X objects=682 used=1: debug flags ZPU
allocated T by tid X (objects) on CPU X
    #0 main (objects.c:X)
    #1 __libc_start_call_main (libc_start_call_main.h:X)
freed T by tid X (objects) on CPU X
    #0 main (objects.c:X)
    #1 __libc_start_call_main (libc_start_call_main.h:X)
X is 0 bytes from the start of object X of cache size-32 (32 bytes)
object  0 of its slab: allocated
slab    X objects=512 used=1: owned by CPU X
X is 1 bytes into 100000 bytes of slab_malloc()
X is 1 bytes into 100000 bytes of slab_malloc()
X is memory of libslab that no cache has: free, or its own
X is not memory of libslab
X is 0 bytes from the start of object X of cache old (64 bytes)
object  0 of its slab: allocated
slab    X objects=256 used=1: legacy layout
X is 0 bytes from the start of object X of cache plain (64 bytes)
object  200 of its slab: never handed out
slab    X objects=256 used=$used: owned by CPU X
X is 0 bytes from the start of object X of cache held (64 bytes)
object  10 of its slab: $in_lifo
slab    X objects=256 used=$lifo_used: $held_state
X is 0 bytes from the start of object X of cache held (64 bytes)
object  44 of its slab: $in_magazine
slab    X objects=256 used=$magazine_used: $held_state
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
