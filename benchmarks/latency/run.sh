#!/bin/sh
# SPDX-License-Identifier: MIT
#
# How long locks are held and other threads stall beside a large heap, called by
# ./run bench latency after a build: run.sh [SLABS [BUILD]].
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/run.py" "$@"
