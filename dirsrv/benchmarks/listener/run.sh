#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The listener's benchmark, called by ./run bench listener after a build; --help says what it
# takes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
case " $* " in
*' --help '* | *' -h '*) ;;
*)
	# A server that cannot be had is left out; the runner says so.
	sh "$here/../servers/unpack" "$here/../../../build/servers" slapd 389-ds-base || true
	;;
esac
exec python3 "$here/run.py" --build "$here/../../../build" "$@"
