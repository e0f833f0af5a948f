# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# shellcheck disable=SC2034 # the other files use the lists
#
# What the commands need of Debian, and how that is installed.

build_packages="g++ cmake ninja-build pkg-config libjson-c-dev libdw-dev libncurses-dev
	libmicrohttpd-dev liburcu-dev valgrind liblmdb-dev libldap-dev systemtap-sdt-dev python3"
compile_packages="$build_packages libgtest-dev"
test_packages="$compile_packages gdb tmux mandoc man-db ldap-utils python3-ldap curl jq
	netcat-openbsd procps"
all_test_packages="$test_packages prometheus python3-jsonschema shellcheck codespell
	clang-format-19 git abigail-tools debhelper lcov musl-tools
	bash spin
	perl sqlite3 python3-scipy"
lint_packages="$all_test_packages clang-19 clang-tidy-19"
allocator_packages="libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0"
server_packages="clang-22 dpkg-dev make patch git ldap-utils python3 libsasl2-dev"
server_openldap_packages="libltdl-dev libgnutls28-dev groff-base"
server_389_packages="autoconf automake libtool cargo rustc libcmocka-dev libcrack2-dev libdb-dev libevent-dev
	libicu-dev libkrb5-dev libnspr4-dev libnss3-dev libpam0g-dev libpcre2-dev libsnmp-dev libssl-dev
	librust-base64-dev librust-cbindgen-dev librust-cc-dev librust-crossbeam-dev librust-fernet-dev
	librust-jobserver-dev librust-lru-dev librust-openssl-dev librust-parking-lot-dev librust-paste-dev
	librust-rand-dev librust-smallvec-dev librust-tokio-dev python3-argcomplete python3-dateutil
	python3-distro python3-ldap python3-pyasn1 python3-pyasn1-modules python3-setuptools"
aarch64_packages="$build_packages gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross
	qemu-system-arm cpio util-linux"
machines_packages="$compile_packages qemu-system-x86 busybox-static cpio"
fuzz_packages="$compile_packages clang-19 libclang-rt-19-dev gdb"
package_packages="$build_packages debhelper dpkg-dev git"
demo_packages="$compile_packages ldap-utils"
bench_packages="$build_packages $allocator_packages python3-matplotlib"

installed()
{
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

apt_install()
{
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -q --no-install-recommends "$@" </dev/null
}

# need WHY PACKAGE...: install those of the packages that are missing.
need()
{
	why=$1
	shift
	if ! command -v dpkg-query >/dev/null; then
		say "no dpkg here; this needs what Debian 12 has as: $*"
		return
	fi
	missing=
	for package in "$@"; do
		installed "$package" || missing="$missing $package"
	done
	[ -n "$missing" ] || return 0

	say "installing with apt for $why; this can take minutes:$missing"
	if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
		die "packages are missing, and installing them takes root or sudo: apt-get install$missing"
	fi
	log=$(mktemp)
	# The package lists may be missing or old: try, refresh them, try again.
	# shellcheck disable=SC2086
	if ! apt_install $missing >"$log" 2>&1; then
		as_root apt-get update -q </dev/null >>"$log" 2>&1 || true
		if ! apt_install $missing >>"$log" 2>&1; then
			tail -n 20 "$log" >&2
			rm -f "$log"
			printf 'run: apt could not install:%s\n' "$missing" >&2
			exit 1
		fi
	fi
	rm -f "$log"
}

# wish WHY PACKAGE...: install those of the packages that are missing and can be installed.
wish()
{
	(need "$@") && return
	shift
	for package in "$@"; do
		installed "$package" || apt_install "$package" >/dev/null 2>&1 ||
			say "going on without $package"
	done
}
