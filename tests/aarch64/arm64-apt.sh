#!/bin/sh
# SPDX-License-Identifier: MIT
#
# arm64-apt.sh FOLDER: for other scripts to read: apt for arm64, which keeps what it knows in
# FOLDER/apt, so nothing changes for the machine. Sets $archives, where it downloads to.
apt_for_arm64()
{
	command -v apt-get >/dev/null || {
		echo "$0: there is no apt-get, which brings Debian's files for arm64" >&2
		exit 77
	}
	apt=$1/apt
	archives=$apt/cache/archives
	mkdir -p "$apt/state/lists/partial" "$archives/partial"
	: >"$apt/status"
	cat >"$apt/apt.conf" <<-END
		APT::Architecture "arm64";
		APT::Architectures { "arm64"; };
		APT::Install-Recommends "false";
		APT::Sandbox::User "";
		Dir::State "$apt/state";
		Dir::State::status "$apt/status";
		Dir::Cache "$apt/cache";
	END
	export APT_CONFIG="$apt/apt.conf"
	apt-get update -q >&2
}
