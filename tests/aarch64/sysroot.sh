#!/bin/sh
# SPDX-License-Identifier: MIT
#
# sysroot.sh FOLDER: what the whole build needs of Debian's packages for arm64, unpacked in
# FOLDER/sysroot; prints its path. Nothing is installed.
set -eu
# shellcheck source=SCRIPTDIR/../machines/apt.sh
. "$(dirname "$0")/../machines/apt.sh"
mkdir -p "$1"
folder=$(cd "$1" && pwd)
root=$folder/sysroot
packages="libc6-dev libstdc++6 libgtest-dev libjson-c-dev libdw-dev libncurses-dev zlib1g-dev
	libmicrohttpd-dev liburcu-dev liblmdb-dev libldap-dev libcrypt-dev systemtap-sdt-dev valgrind
	busybox-static bash util-linux tmux ncurses-base"

if [ ! -e "$root/complete" ]; then
	apt_for bookworm arm64 "$folder"
	# shellcheck disable=SC2086
	apt-get install -y -q --download-only $packages >&2
	rm -rf "$root"
	mkdir "$root"
	for archive in "$archives"/*.deb; do
		dpkg-deb -x "$archive" "$root"
	done
	# Absolute links would lead to the files of this machine.
	find "$root" -type l -lname '/*' | while read -r link; do
		ln -sfnr "$root$(readlink "$link")" "$link"
	done
	rm -rf "$apt"
	touch "$root/complete"
fi
echo "$root"
