#!/bin/sh
# SPDX-License-Identifier: MIT
#
# kernel.sh FOLDER: Debian's kernel for aarch64, unpacked in FOLDER; prints its path. apt keeps
# what it knows of that architecture in FOLDER, so nothing changes for the machine.
set -eu
folder=$1

find_kernel()
{
	find "$folder/boot" -name 'vmlinuz-*' 2>/dev/null | head -n 1
}

if [ -z "$(find_kernel)" ]; then
	command -v apt-get >/dev/null
	mkdir -p "$folder/state/lists/partial" "$folder/cache/archives/partial"
	: >"$folder/status"
	cat >"$folder/apt.conf" <<-END
		APT::Architecture "arm64";
		APT::Architectures { "arm64"; };
		APT::Sandbox::User "";
		Dir::State "$folder/state";
		Dir::State::status "$folder/status";
		Dir::Cache "$folder/cache";
	END
	export APT_CONFIG="$folder/apt.conf"
	apt-get update -q >&2
	package=$(apt-cache depends linux-image-arm64 | awk '$1 == "Depends:" { print $2; exit }')
	(cd "$folder" && apt-get download -q "$package" >&2)
	dpkg-deb --fsys-tarfile "$folder/$package"_*.deb | tar -x -C "$folder" ./boot
	rm -rf "$folder/$package"_*.deb "$folder/state" "$folder/cache"
fi
find_kernel
