#!/bin/sh
# SPDX-License-Identifier: MIT
#
# kernel.sh FOLDER: Debian's kernel for aarch64, unpacked in FOLDER; prints its path.
set -eu
# shellcheck source=SCRIPTDIR/arm64-apt.sh
. "$(dirname "$0")/arm64-apt.sh"
mkdir -p "$1"
folder=$(cd "$1" && pwd)

find_kernel()
{
	find "$folder/boot" -name 'vmlinuz-*' 2>/dev/null | head -n 1
}

if [ -z "$(find_kernel)" ]; then
	apt_for_arm64 "$folder"
	package=$(apt-cache depends linux-image-arm64 | awk '$1 == "Depends:" { print $2; exit }')
	(cd "$folder" && apt-get download -q "$package" >&2)
	dpkg-deb --fsys-tarfile "$folder/$package"_*.deb | tar -x -C "$folder" ./boot
	rm -rf "$folder/$package"_*.deb "$folder/apt"
fi
find_kernel
