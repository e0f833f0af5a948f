#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The switches SLAB_BUILD_…: each part can be left out, and what it needs is then not looked for.
# libslab and libslab_malloc alone build and install with a C compiler and nothing else.
# usage: parts.sh CMAKE SOURCE-FOLDER CC CXX
set -eu

cmake=$1 source=$2 cc=$3 cxx=$4
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail()
{
	echo "parts: $*"
	exit 1
}

# A pkg-config that does not know the modules in $REFUSED; headers that must not be included.
cat >"$tmp/pkg-config" <<-'END'
	#!/bin/sh
	for word in "$@"; do
		case " $REFUSED " in *" ${word%% *} "*) exit 1 ;; esac
	done
	exec pkg-config "$@"
END
chmod +x "$tmp/pkg-config"
for header in urcu/flavor urcu/call-rcu urcu/urcu-memb urcu/rculfhash json-c/json ncurses \
	microhttpd lmdb ldap elfutils/libdw gelf zlib valgrind/memcheck sys/sdt; do
	mkdir -p "$tmp/headers/$(dirname $header)"
	echo "#error <$header.h> must not be included" >"$tmp/headers/$header.h"
done

# without PARTS MODULES [OPTION...]: configure with the parts off, and without these modules.
without()
{
	echo "-- without ${1:-nothing}"
	options=
	for part in $1; do
		options="$options -DSLAB_BUILD_$part=OFF"
	done
	REFUSED=$2
	export REFUSED
	shift 2
	rm -rf "$tmp/build"
	# shellcheck disable=SC2086
	"$cmake" -S "$source" -B "$tmp/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
		-DPKG_CONFIG_EXECUTABLE="$tmp/pkg-config" -DCMAKE_INSTALL_PREFIX=/usr \
		-DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" $options "$@" >"$tmp/log" 2>&1
}

shown()
{
	cat "$tmp/log"
	fail "$*"
}

without EXPORTER libmicrohttpd || shown "it is not configured"
without DIRSRV "liburcu liburcu-cds lmdb ldap" || shown "it is not configured"
without "TOOLS EXPORTER" "libdw ncursesw zlib" || shown "it is not configured"
without EXAMPLES "lmdb ldap" || shown "it is not configured"

! without TOOLS "" -DSLAB_BUILD_TESTS=ON || fail "tests are configured without the tools"
grep -q 'but SLAB_BUILD_TOOLS is' "$tmp/log" || shown "the message does not name the missing part"
! without "" libmicrohttpd || fail "the exporter is configured without libmicrohttpd"

without "DIRSRV TOOLS EXPORTER EXAMPLES" \
	"liburcu liburcu-cds json-c libelf libdw ncursesw zlib libmicrohttpd lmdb ldap" \
	"-DCMAKE_C_FLAGS=-O0 -I$tmp/headers" || shown "it is not configured"
"$cmake" --build "$tmp/build" -- --quiet >"$tmp/log" 2>&1 || shown "it does not build"
DESTDIR=$tmp/root "$cmake" --install "$tmp/build" >"$tmp/log" 2>&1 || shown "it is not installed"
for file in include/slab/slab.h share/man/man3/slab_alloc.3 share/doc/slab/LICENSE; do
	[ -e "$tmp/root/usr/$file" ] || fail "$file is not installed"
done
[ -n "$(find "$tmp/root" -name libslab_malloc.so.0)" ] || fail "libslab_malloc.so.0 is not installed"
if find "$tmp/root" -name bin -o -name '*dirsrv*' -o -name 'slabinfo*' -o -name 'ldap*' \
	-o -name '*exporter*' | grep .; then
	fail "the files above are of parts that were left out"
fi
