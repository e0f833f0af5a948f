#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Install a build, move what was installed, and build and run programs against
# it in every way that users do: find_package and pkg-config, C and C++, shared
# and static.
# usage: install.sh CMAKE BUILD-FOLDER CONSUMER-FOLDER CC CXX VERSION
set -eu

cmake=$1 build=$2 consumer=$3 cc=$4 cxx=$5 version=$6
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail()
{
	echo "install: $*"
	exit 1
}

step()
{
	echo "-- $*"
}

step "install and move"
"$cmake" --install "$build" --prefix "$tmp/first" >"$tmp/log"
mkdir "$tmp/elsewhere"
mv "$tmp/first" "$tmp/elsewhere/slab"
prefix=$tmp/elsewhere/slab
if grep -rlF -e "$tmp/first" -e "$build" "$prefix"/lib*/cmake "$prefix"/lib*/pkgconfig; then
	fail "the files above know where they were built or installed"
fi

step "find_package"
"$cmake" -S "$consumer" -B "$tmp/cmake" -DCMAKE_PREFIX_PATH="$prefix" \
	-DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=Release >"$tmp/log" ||
	{ cat "$tmp/log"; fail "find_package(slab) does not work"; }
"$cmake" --build "$tmp/cmake" >"$tmp/log" 2>&1 || { cat "$tmp/log"; fail "consumers do not build"; }
for program in consumer_c consumer_static consumer_cxx consumer_dirsrv; do
	"$tmp/cmake/$program"
done
readelf -d "$tmp/cmake/consumer_c" | grep -q 'NEEDED.*libslab\.so\.0' ||
	fail "consumer_c does not use libslab.so.0"
if readelf -d "$tmp/cmake/consumer_static" | grep -q 'NEEDED.*libslab'; then
	fail "consumer_static uses libslab.so"
fi

if command -v gdb >/dev/null; then
	step "gdb loads its commands by itself"
	libdir=$(dirname "$(find "$prefix" -name libslab.so.0)")
	gdb -nx -q -batch -iex "add-auto-load-safe-path $libdir" -ex 'break main' -ex run \
		-ex 'help slab info' -ex 'help slab object' "$tmp/cmake/consumer_c" >"$tmp/log" 2>&1 </dev/null
	for command in 'info \[REGEXP\]' 'object ADDRESS'; do
		grep -q "^slab $command" "$tmp/log" || { cat "$tmp/log"; fail "it does not"; }
	done
fi

step "a plug-in with libslab.a inside, loaded and unloaded"
readelf -d "$tmp/cmake/consumer_plugin.so" | grep -q NODELETE || fail "the plug-in can be unloaded"
for engine in rseq cmpxchg16b mutex; do
	SLAB_ENGINE=$engine "$tmp/cmake/consumer_host" "$tmp/cmake/consumer_plugin.so"
done

step "libslab_malloc.so in a program that does not know libslab"
env -u LD_LIBRARY_PATH LD_PRELOAD="$(find "$prefix" -name libslab_malloc.so.0)" cat /proc/self/maps >"$tmp/log" 2>&1
for library in libslab_malloc libslab; do
	grep -q "$prefix.*/$library\.so" "$tmp/log" || { cat "$tmp/log"; fail "$library is not loaded"; }
done

step "pkg-config"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name libslab.pc)")
export PKG_CONFIG_PATH
found=$(pkg-config --modversion libslab)
[ "$found" = "$version" ] || fail "pkg-config says version $found, not $version"
LD_LIBRARY_PATH=$(pkg-config --variable=libdir libslab)
export LD_LIBRARY_PATH
# The words of pkg-config are meant to be split.
# shellcheck disable=SC2046
"$cc" -O2 -o "$tmp/pc_c" "$consumer/consumer.c" $(pkg-config --cflags --libs libslab)
# shellcheck disable=SC2046
"$cxx" -std=c++17 -O2 -o "$tmp/pc_cxx" "$consumer/consumer.cc" $(pkg-config --cflags --libs libslab)
# shellcheck disable=SC2046
"$cc" -O2 -o "$tmp/pc_dirsrv" "$consumer/dirsrv.c" $(pkg-config --cflags --libs libslab_dirsrv)
"$tmp/pc_c"
"$tmp/pc_cxx"
"$tmp/pc_dirsrv"
if command -v clang-22 >/dev/null; then
	step "types"
	# shellcheck disable=SC2046
	clang-22 -o "$tmp/pc_typed" "$consumer/consumer.c" $(pkg-config --cflags --libs libslab-token libslab)
	"$tmp/pc_typed"
fi

# quietly WHAT PROGRAM COMMAND...: the command prints nothing, and its program runs.
quietly()
{
	step "$1"
	program=$2
	shift 2
	"$@" -o "$program" >"$tmp/log" 2>&1 || { cat "$tmp/log"; fail "it does not link"; }
	[ ! -s "$tmp/log" ] || { cat "$tmp/log"; fail "the link prints something"; }
	"$program"
}

archive=$LD_LIBRARY_PATH/libslab.a
if readelf -SW "$archive" | grep -q 'gnu\.lto_'; then
	fail "libslab.a has link-time optimisation in it"
fi
cflags=$(pkg-config --cflags libslab)
# shellcheck disable=SC2086
quietly "libslab.a" "$tmp/static" "$cc" -O2 $cflags "$consumer/consumer.c" "$archive" -pthread
# shellcheck disable=SC2086
quietly "libslab.a, by gcc -flto" "$tmp/lto" \
	"$cc" -O2 -flto $cflags "$consumer/consumer.c" "$archive" -pthread

for program in "$prefix"/bin/*; do
	[ -x "$program" ] || continue
	step "${program##*/} runs from where it was moved to"
	env -u LD_LIBRARY_PATH "$program" --help >"$tmp/log" || { cat "$tmp/log"; fail "it does not"; }
done
