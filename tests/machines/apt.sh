#!/bin/sh
# SPDX-License-Identifier: MIT
#
# For other scripts to read: apt for a suite of Debian and an architecture, which keeps what it
# knows in a folder, so nothing changes for the machine.

# apt_for SUITE ARCH FOLDER: apt-get and apt-cache mean that suite from here on. Sets $archives,
# where it downloads to.
apt_for()
{
	command -v apt-get >/dev/null || {
		echo "$0: there is no apt-get, which brings Debian's files" >&2
		exit 77
	}
	apt=$3/apt
	archives=$apt/cache/archives
	mkdir -p "$apt/state/lists/partial" "$archives/partial"
	: >"$apt/status"
	for suite in "$1" "${1%-backports}"; do
		echo "deb http://deb.debian.org/debian $suite main"
	done | sort -u >"$apt/sources.list"
	cat >"$apt/apt.conf" <<-END
		APT::Architecture "$2";
		APT::Architectures { "$2"; };
		APT::Default-Release "$1";
		APT::Install-Recommends "false";
		APT::Sandbox::User "";
		Dir::State "$apt/state";
		Dir::State::status "$apt/status";
		Dir::Cache "$apt/cache";
		Dir::Etc::sourcelist "$apt/sources.list";
		Dir::Etc::sourceparts "-";
	END
	export APT_CONFIG="$apt/apt.conf"
	apt-get update -q >&2
}

# unpack FOLDER PACKAGE...: without what they need.
unpack()
{
	into=$1
	shift
	for package in "$@"; do
		(cd "$archives" && apt-get download -q "$package" >&2)
		dpkg-deb -x "$archives/$package"_*.deb "$into"
	done
}
