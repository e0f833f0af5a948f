#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What it costs a process to be looked at, called by ./run bench inspect after a
# build: run.sh [SLABS [ROUNDS]].
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$here/../.." && pwd)/build
mkdir -p "$build/bench"
exec python3 "$here/run.py" --build "$build" "$@"
