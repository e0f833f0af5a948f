#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Small cases under Google Benchmark, called by ./run bench micro after a build: run.sh
# [OPTION of Google Benchmark]..., e.g. --benchmark_filter=pair/.*/64. Without one, each case
# is measured 9 times, in random order; the table goes to the terminal and to
# build/bench/micro.md, all figures to build/bench/micro.json.
set -eu
[ "${1-}" != --help ] || { sed -n "s,^# \{0\,1\},,; 4,7p" "$0"; exit 0; }
build=$(cd "$(dirname "$0")/../.." && pwd)/build
if [ ! -x "$build/bin/micro" ]; then
	echo "bench micro: bin/micro is not built: install libbenchmark-dev and run ./run build" >&2
	exit 2
fi
mkdir -p "$build/bench"
# Only the allocator is measured, not the thread that shows it to slabinfo.
SLAB_CONTROL=off "$build/bin/micro" --benchmark_repetitions=9 \
	--benchmark_enable_random_interleaving=true --benchmark_out="$build/bench/micro.json" \
	--benchmark_out_format=json "$@"
python3 "$(dirname "$0")/table.py" "$build/bench/micro.json" >"$build/bench/micro.md"
