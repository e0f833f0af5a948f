#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The servers' benchmark, called by ./run bench servers after a build; --help says what it
# takes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
case " $* " in
*' --help '* | *' -h '*) ;;
*)
	# A server that cannot be had is left out; the runner says so.
	case " $* " in
	*' --constructors '*)
		sh "$here/unpack" "$here/../../../build/servers" 389-ds-base
		exec python3 "$here/constructors.py" --build "$here/../../../build"
		;;
	*' --typed '*)
		sh "$here/unpack" "$here/../../../build/servers" 389-ds-base || true
		"$here/../../../run" server openldap --build || true
		"$here/../../../run" server openldap --preload --build || true
		;;
	*)
		sh "$here/unpack" "$here/../../../build/servers" redis-server slapd 389-ds-base || true
		;;
	esac
	;;
esac
exec python3 "$here/run.py" --build "$here/../../../build" "$@"
