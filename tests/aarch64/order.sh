#!/bin/sh
# SPDX-License-Identifier: MIT
#
# order.sh SOURCE: the sequences for aarch64, as the cross compiler makes them, load with
# acquire what other CPUs store (cpu_cache/pseudocode.h, Order). No machine at hand reorders
# loads as a real one may, so the instructions are looked at. Exit status: 0 they do, 77
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
for file in cpu_cache/rseq.c slab/alloc/fastpath.c slab/alloc/free_slow.c slab/rcu/free_rcu.c; do
	aarch64-linux-gnu-gcc -std=gnu11 -O2 -Wno-attributes -D_GNU_SOURCE -I"$source/include" \
		-I"$source/cpu_cache" -I"$source/slab" -I"$folder" -c "$source/$file" \
		-o "$folder/object.o"
	aarch64-linux-gnu-objdump -d --no-show-raw-insn "$folder/object.o"
done >"$folder/instructions"

awk -F '\t' '
function fail(what) { print "order.sh: " what ": " $0; bad = 1 }
NF < 2 { next }
{ now = $2 " " $3 }
# The general section: each condition.
now ~ /^cmp x16, x17/ { conditions++; if (p[2] !~ /^ldar x16, \[x16\]/) fail("condition") }
# A push to a slab: the owner, then the height.
now ~ /^ldr x16, \[x[0-9]+, #192\]/ && p[1] ~ /^b\.ne/ && p[2] ~ /^cmp w16, w17/ {
	heights++
	if (p[3] !~ /^ldar w17, /)
		fail("owner")
}
# Adding to the remote batch: closed, then the word.
now ~ /^ldr x17, \[x16, #16\]/ {
	words++
	if (p[1] !~ /^cbnz x17, / || p[2] !~ /^ldar x17, /)
		fail("closed")
}
# Commits: all but those of pop are releases.
now ~ /^brk #0x45e0/ { commits++; if (p[2] !~ /^stlr / && p[2] !~ /^str x14, \[x1[67]/) fail("commit") }
{ p[3] = p[2]; p[2] = p[1]; p[1] = now }
END {
	if (conditions < 4 || heights < 2 || words < 1 || commits < 10) {
		print "order.sh: " conditions + 0 " conditions, " heights + 0 " heights, " \
			words + 0 " remote batch words, " commits + 0 " commits: not what was expected"
		bad = 1
	}
	exit bad
}' "$folder/instructions"
