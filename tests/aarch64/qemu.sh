#!/bin/sh
# SPDX-License-Identifier: MIT
#
# qemu.sh FOLDER: qemu-aarch64, linked statically, in FOLDER; prints its path. Debian's package is
# unpacked and not installed, since it would let the whole machine run programs for aarch64.
set -eu
mkdir -p "$1"
folder=$(cd "$1" && pwd)
qemu=$folder/usr/bin/qemu-aarch64-static

if [ ! -e "$qemu" ]; then
	(cd "$folder" && apt-get download -q qemu-user-static >&2)
	dpkg-deb --fsys-tarfile "$folder"/qemu-user-static_*.deb |
		tar -x -C "$folder" ./usr/bin/qemu-aarch64-static
	rm "$folder"/qemu-user-static_*.deb
fi
echo "$qemu"
