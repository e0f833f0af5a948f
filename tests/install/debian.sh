#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The folder debian/ fits the build: its version is the project's; each installed file is in one
# package, and each package finds its files; debhelper accepts it. No package is built:
# that is ./run package.
# usage: debian.sh CMAKE BUILD-FOLDER SOURCE-FOLDER VERSION
set -eu
export LC_ALL=C

cmake=$1 build=$2 source=$3 version=$4
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail()
{
	echo "debian: $*"
	failed=1
}

failed=0
cd "$source"
found=$(sed -n '1s/^libslab (\([^)]*\)).*/\1/p' debian/changelog)
[ "$found" = "$version" ] || fail "debian/changelog has version $found, CMakeLists.txt $version"

# In packages the libraries' folder has the name of the architecture, and gdb's script, which stands
# beside the library elsewhere, is in /usr/share.
"$cmake" --install "$build" --prefix "$tmp/usr" >/dev/null
mkdir -p "$tmp/arch" "$tmp/usr/share/gdb/auto-load"
mv "$tmp"/usr/lib/*-gdb*.py "$tmp/usr/share/gdb/auto-load"
mv "$tmp/usr/lib/systemd" "$tmp"
mv "$tmp/usr/lib" "$tmp/arch/ARCH"
mv "$tmp/arch" "$tmp/usr/lib"
mv "$tmp/systemd" "$tmp/usr/lib"

sed -n 's/^\(usr[^ ]*\).*/\1/p' debian/*.install debian/not-installed >"$tmp/patterns"
cd "$tmp"
find usr ! -type d | sort >files
while read -r pattern; do
	# shellcheck disable=SC2086 # a pattern
	find $pattern ! -type d 2>/dev/null | grep . || echo "no file is $pattern" >>missing
done <patterns | sort >packaged
[ ! -e missing ] || fail "$(cat missing)"
diff files packaged >differences || {
	sed -n 's/^</in no package:/p; s/^>/in two packages:/p' differences
	failed=1
}
cd "$source"

if command -v dh >/dev/null; then
	dh binary --no-act --buildsystem=cmake+ninja >"$tmp/log" 2>&1 || {
		cat "$tmp/log"
		fail "debhelper does not accept debian/"
	}
fi
exit $failed
