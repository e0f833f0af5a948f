#!/bin/sh
# SPDX-License-Identifier: MIT
#
# kernel.sh FOLDER SUITE ARCH [PACKAGE...]: Debian's kernel of a suite and these packages, unpacked
# in FOLDER/root; prints the kernel's path. Nothing is installed.
set -eu
# shellcheck source=SCRIPTDIR/apt.sh
. "$(dirname "$0")/apt.sh"
suite=$2 arch=$3
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift 3

find_kernel()
{
	find "$folder/root" -name 'vmlinuz*' 2>/dev/null | head -n 1
}

# needed PACKAGE NAME: what the package depends on whose name begins so.
needed()
{
	apt-cache depends "$1" |
		awk -v name="^$2" '$1 == "Depends:" && $2 ~ name { print $2; exit }'
}

if [ -z "$(find_kernel)" ]; then
	apt_for "$suite" "$arch" "$folder"
	case $arch in
	amd64) package=$(needed linux-image-cloud-amd64 linux-image-) ;;
	*) package=$(needed "linux-image-$arch" linux-image-) ;;
	esac
	# Newer packages leave the kernel to another one.
	binary=$(needed "$package" linux-binary-)
	unpack "$folder/root" "$@" "${binary:-$package}"
	rm -rf "$apt"
fi
find_kernel
