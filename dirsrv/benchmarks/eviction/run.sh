#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Hit rates of eviction policies, called by ./run bench eviction after a build: run.sh [BUILD].
set -eu
[ "${1-}" != --help ] || { sed -n "s,^# \{0\,1\},,; 4p" "$0"; exit 0; }
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/run.py" "$@"
