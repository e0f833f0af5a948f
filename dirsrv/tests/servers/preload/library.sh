#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What libslab-389ds.so exports and needs.
# usage: library.sh LIBRARY MAP
set -eu
# shellcheck source=SCRIPTDIR/../../../../tests/support/library.sh
. "$(dirname "$0")/../../../../tests/support/library.sh"

check_library "$1" "$2"
check_thread_data "$1"
