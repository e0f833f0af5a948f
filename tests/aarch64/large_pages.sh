#!/bin/sh
# SPDX-License-Identifier: MIT
#
# large_pages.sh FOLDER: a kernel for aarch64 with pages of 64 KiB, which Debian 12 does not have, made
# in FOLDER from Debian's source with the options of large_pages.config and what they need; prints its path.
# Needs the packages linux-source-6.1, flex, bison, bc and gcc-aarch64-linux-gnu.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=/usr/src/linux-source-6.1.tar.xz

for program in flex bison bc aarch64-linux-gnu-gcc; do
	command -v $program >/dev/null || {
		echo "$0: $program is missing" >&2
		exit 77
	}
done
[ -f $source ] || {
	echo "$0: $source is missing: install linux-source-6.1" >&2
	exit 77
}
mkdir -p "$1"
folder=$(cd "$1" && pwd)
kernel=$folder/linux-source-6.1/arch/arm64/boot/Image.gz
if [ ! -f "$kernel" ]; then
	tar -x -f $source -C "$folder"
	cd "$folder/linux-source-6.1"
	export ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-
	make -s KCONFIG_ALLCONFIG="$here/large_pages.config" allnoconfig >&2
	make -s "-j$(nproc)" Image.gz >&2
fi
echo "$kernel"
