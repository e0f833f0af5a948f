#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What a program gets from libslab under limits of its writable memory (ulimit -d) and its address
# space (ulimit -v): at least 0.6 of what it gets from the C library, and real programs start where
# they start without libslab.
# usage: limits.sh LIBSLAB_MALLOC FILL FILL_TYPED
set -euo pipefail
export LC_ALL=C

library=$1 fill=$2 typed=$3
failures=0

# Each CPU takes 128 KiB.
cpus=$(getconf _NPROCESSORS_CONF)
if [ "$cpus" -gt 8 ]; then
	echo "skipped: the limits of this test suit up to 8 CPUs"
	exit 77
fi

# under LIMIT MIB COMMAND...: with this limit
under()
{
	(ulimit "$1" $(($2 * 1024)) && shift 2 && exec "$@") 2>/dev/null
}

# compare WHAT PLAIN GOT
compare()
{
	echo "$1: $2 KiB from the C library, ${3:-0} from libslab"
	[ "$((10 * ${3:-0}))" -ge "$((6 * $2))" ] || failures=$((failures + 1))
}

fills()
{
	for size in 100 1000 102400 1048576; do
		plain=$(under "$1" "$2" "$fill" $size)
		for engine in rseq cmpxchg16b mutex; do
			got=$(under "$1" "$2" env LD_PRELOAD="$library" SLAB_ENGINE=$engine "$fill" $size) || true
			compare "ulimit $1 $2 MiB, blocks of $size bytes, $engine" "$plain" "$got"
		done
	done
	for engine in rseq cmpxchg16b mutex; do
		got=$(under "$1" "$2" env SLAB_CONTROL=off SLAB_ENGINE=$engine "$typed" 1000) || true
		compare "ulimit $1 $2 MiB, objects, $engine" "$(under "$1" "$2" "$fill" 1000)" "$got"
	done
}

starts()
{
	limit=$1 mib=$2
	shift 2
	command -v "$1" >/dev/null || return 0
	under "$limit" "$mib" "$@" >/dev/null || return 0
	under "$limit" "$mib" env LD_PRELOAD="$library" "$@" >/dev/null || {
		echo "ulimit $limit $mib MiB: $* fails with libslab alone"
		failures=$((failures + 1))
	}
}

for limit in -d -v; do
	[ "$cpus" -gt 2 ] || fills $limit 8
	for mib in 16 32 50 100 256; do
		fills $limit $mib
	done
	for mib in 8 16 32 64; do
		starts "$limit" "$mib" bash -c :
		# The files of the larger programs leave less than 2 MiB of 8.
		[ "$limit $mib" != "-v 8" ] || continue
		starts "$limit" "$mib" perl -e 'print "started\n"'
		starts "$limit" "$mib" git --version
	done
done
[ $failures -eq 0 ] || {
	echo "limits: $failures failures"
	exit 1
}
