#!/bin/sh
# SPDX-License-Identifier: MIT
#
# How long locks are held and other threads stall beside a large heap, called by
# ./run bench latency after a build: run.sh [SLABS [BUILD]].
set -eu
[ "${1-}" != --help ] || { sed -n "s,^# \{0\,1\},,; 4,5p" "$0"; exit 0; }
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/run.py" "$@"
