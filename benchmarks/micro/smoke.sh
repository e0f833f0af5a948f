#!/bin/sh
# SPDX-License-Identifier: MIT
#
# smoke.sh MICRO: the filter chooses cases, and table.py makes a table of the JSON. No figure is
# judged.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

SLAB_CONTROL=off "$1" --benchmark_filter='/64(/|$)' --benchmark_min_time=0.001 \
	--benchmark_repetitions=2 --benchmark_out="$work/micro.json" \
	--benchmark_out_format=json >"$work/text" 2>&1
python3 "$here/table.py" "$work/micro.json" >"$work/table"
for row in '| an allocation and its free | 64 |' '| 16 objects by bulk calls | 64 |' \
	'| 16 objects by single calls | 64 |' '| the free of an object of another thread | 64 |'; do
	grep -qF "$row" "$work/table" || {
		echo "no row '$row' in:" >&2
		cat "$work/table" "$work/text" >&2
		exit 1
	}
done
if grep -q '| 240 |' "$work/table"; then
	echo "a size that the filter leaves out was measured" >&2
	exit 1
fi
