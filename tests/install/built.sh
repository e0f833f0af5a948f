#!/bin/sh
# SPDX-License-Identifier: MIT
#
# ./run build makes every file that is installed, though it leaves out the tests.
#
# usage: built.sh SOURCE-FOLDER BUILD-FOLDER
set -eu

# shellcheck disable=SC1091
. "$1/tools/run/build.sh"
# shellcheck disable=SC2086
ninja -C "$2" -t commands $programs | tr ' ' '\n' | sed "s#^$2/##" | sort -u >built.txt
find "$2" -name cmake_install.cmake -exec grep -ohE "\"$2/(lib|bin)/[^\"]+\"" {} + |
	sed "s#\"$2/##; s#\"##" | sort -u >installed.txt
grep -q libslab_malloc installed.txt
# A library's links are made with it.
missing=$(grep -E '\.a$|/[^.]*$|so\.[0-9]+\.[0-9]+\.[0-9]+$' installed.txt | grep -vxF -f built.txt || true)
rm -f built.txt installed.txt
[ -z "$missing" ] || { echo "not built: $missing"; exit 1; }
