#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The pblock benchmark, called by ./run bench pblock after a build; --help says
# what it takes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/run.py" --build "$here/../../../build" "$@"
