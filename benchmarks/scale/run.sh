#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The model of large machines, called by ./run bench scale after a build; --help says
# what it takes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/run.py" "$@"
