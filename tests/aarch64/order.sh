#!/bin/sh
# SPDX-License-Identifier: MIT
#
# order.sh SOURCE: the sequences for aarch64, as the cross compiler makes them, commit pushes with a
# release: a thread that reads the count of another CPU's array also sees its entries. No machine at
# hand reorders stores as a real one may, so the instructions are looked at. Exit status: 0 they do, 77
# there is no cross compiler, 1 they do not.
set -eu
source=$1

command -v aarch64-linux-gnu-gcc >/dev/null || {
	echo "order.sh: aarch64-linux-gnu-gcc is missing" >&2
	exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The headers of liburcu are those of this machine.
for place in /usr/include /usr/include/*-linux-gnu; do
	[ -e "$place/urcu/flavor.h" ] && ln -sfn "$place/urcu" "$folder/urcu"
done
for file in cpu_cache/rseq.c slab/alloc/fastpath.c slab/rcu/free_rcu.c; do
	aarch64-linux-gnu-gcc -std=gnu11 -O2 -Wno-attributes -D_GNU_SOURCE -I"$source/include" \
		-I"$source/cpu_cache" -I"$source/slab" -I"$folder" -c "$source/$file" \
		-o "$folder/object.o"
	aarch64-linux-gnu-objdump -d --no-show-raw-insn "$folder/object.o"
done >"$folder/instructions"

awk -F '\t' '
NF < 2 { next }
{ now = $2 " " $3 }
# The commit stands before the branch around the signature. Pop and take store the count from x14 and
# x13; the look at the newest object stores to the stack.
now ~ /^brk #0x45e0/ {
	commits++
	releases += p[2] ~ /^stlr /
	if (p[2] !~ /^stlr / && p[2] !~ /^str x1[347], /) { print "order.sh: commit: " p[2]; bad = 1 }
}
{ p[2] = p[1]; p[1] = now }
END {
	if (commits < 6 || releases < 3) {
		print "order.sh: " commits + 0 " commits, " releases + 0 " releases: not what was expected"
		bad = 1
	}
	exit bad
}' "$folder/instructions"
