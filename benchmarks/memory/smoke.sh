#!/bin/sh
# SPDX-License-Identifier: MIT
#
# smoke.sh BIN: a small peak of each program, a moment of RCU, and what the runner makes of
# two seconds of the example directory and of small processes. Takes ten seconds.
set -eu
bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
SLAB_RUNTIME_DIR=$(mktemp -d)
export SLAB_RUNTIME_DIR
trap 'rm -rf "$SLAB_RUNTIME_DIR"' EXIT

# said WHAT TEXT: a line of TEXT is WHAT, a pattern.
said()
{
	printf '%s\n' "$2" | grep -qx -- "$1" || {
		printf 'expected a line "%s" in:\n%s\n' "$1" "$2" >&2
		exit 1
	}
}

for program in memory-malloc memory-slab; do
	for what in entries objects 240; do
		text=$(yes | "$bin/$program" peak $what 2)
		for line in start peak 'live [1-9][0-9]*' freed 'moved 0' idle; do
			said "$line" "$text"
		done
	done
	text=$(yes | "$bin/$program" small caches)
	for line in start 'requested 9696' end 'done'; do
		said "$line" "$text"
	done
	text=$(yes | "$bin/$program" small classes)
	for line in start 'requested 408576' end 'took 16 [0-9]*' 'took 32768 [0-9]*' 'done'; do
		said "$line" "$text"
	done
done
said 'moved [1-9][0-9]*' "$(yes | "$bin/memory-slab" -m peak objects 2)"
said 'freed .* [1-9][0-9]*' "$("$bin/memory-rcu" section 0.3)"
if "$bin/memory-slab" peak 63 2 2>/dev/null; then
	echo 'a size of 63 bytes should be refused' >&2
	exit 1
fi

build=$SLAB_RUNTIME_DIR/build
mkdir "$build"
ln -s "$bin" "$build/bin"
text=$(python3 "$here/run.py" --build "$build" --quick --seconds 2 --cases 'directory|small' \
	--contestants slab,glibc 2>&1)
said 'directory  *slab  *.* % of its slabs not in use at the end .*' "$text"
said 'directory  *slab  *at worst .* MiB, after .*' "$text"
said 'small  *slab  *20 types, one object each: .* MiB .*' "$text"
said '[0-6] of 6 goals met' "$text"
text=$(cat "$build/bench/memory.md")
for name in slab glibc; do
	said "| $name |\( [0-9.]* |\)\{11\} [-+][0-9.]* % | [0-9]*k |" "$text"
	said "| $name |\( [0-9.]* |\)\{7\}" "$text"
done
for what in slabs 'objects in use' 'owned by CPUs' 'loss in % of slabs'; do
	said "| $what |\( [0-9.]* |\)\{10\}" "$text"
done
said '1,slab,directory,owned by CPUs,[0-9.]*,[0-9]*' "$(cat "$build/bench/memory.csv")"
grep -q '>owned by CPUs [0-9]*<' "$build/bench/memory.svg"
