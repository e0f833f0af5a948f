#!/bin/bash
# SPDX-License-Identifier: MIT
#
# OpenSSH's server on libslab's malloc(). The process that talks to a client before its login has a
# system call filter that ends it, made for the C library's malloc(): 20 logins, none of which fails.
# usage: sshd.sh LIBSLAB_MALLOC; SLAB_ENGINE chooses the engine; exits 77 where no server can run
set -euo pipefail

library=$1
logins=20

skip()
{
	echo "skipped: $*"
	exit 77
}

sshd=$(PATH=$PATH:/usr/sbin command -v sshd) || skip "sshd is not installed"
command -v ssh >/dev/null || skip "ssh is not installed"
command -v ssh-keygen >/dev/null || skip "ssh-keygen is not installed"
[ "$(id -u)" = 0 ] || skip "sshd confines its processes only if it runs as root"

# Its empty folder, which a service makes: in a view of /run that no other process has.
if [ ! -d /run/sshd ]; then
	[ -z "${SSHD_TEST_VIEW:-}" ] || skip "no /run/sshd"
	unshare -m true 2>/dev/null || skip "no /run/sshd, and none can be made"
	# shellcheck disable=SC2016 # the inner shell's arguments
	SSHD_TEST_VIEW=1 exec unshare -m sh -c \
		'mount -t tmpfs none /run && mkdir -m 755 /run/sshd && exec bash "$0" "$@"' "$0" "$@"
fi

server=
tmp=$(mktemp -d)
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$tmp"' EXIT
ssh-keygen -q -t ed25519 -N '' -f "$tmp/host"
ssh-keygen -q -t ed25519 -N '' -f "$tmp/user"

free_port()
{
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# False: another process took the port meanwhile.
start_server()
{
	port=$(free_port)
	env LD_PRELOAD="$library" "$sshd" -D -f /dev/null -E "$tmp/log" -h "$tmp/host" -p "$port" \
		-o ListenAddress=127.0.0.1 -o AuthorizedKeysFile="$tmp/user.pub" -o UsePAM=no \
		-o StrictModes=no -o PermitRootLogin=yes -o PidFile=none -o MaxStartups=100 \
		-o PasswordAuthentication=no -o LoginGraceTime=300 &
	server=$!
	until grep -qs 'Server listening' "$tmp/log"; do
		kill -0 "$server" 2>/dev/null || return 1
		sleep 0.1
	done
}

for _ in 1 2 3 4 5; do
	start_server && break
	cat "$tmp/log" 2>/dev/null || true
	server=
done
[ -n "$server" ] || { echo "sshd: it does not start"; exit 1; }
grep -q libslab_malloc "/proc/$server/maps" || { echo "sshd: without libslab"; exit 1; }

log_in()
{
	ssh -F /dev/null -i "$tmp/user" -p "$port" -o StrictHostKeyChecking=no \
		-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o BatchMode=yes \
		"$(id -un)@127.0.0.1" echo in </dev/null || true
}

clients=()
for ((i = 0; i < logins; i++)); do
	log_in >"$tmp/answer.$i" 2>"$tmp/errors.$i" &
	clients+=($!)
done
wait "${clients[@]}"
failed=0
for ((i = 0; i < logins; i++)); do
	# The user's shell may print something first.
	[ "$(tail -n 1 "$tmp/answer.$i")" = in ] && continue
	echo "login $i: $(cat "$tmp/answer.$i" "$tmp/errors.$i")"
	failed=$((failed + 1))
done
[ "$failed" = 0 ] || { tail -n 20 "$tmp/log"; echo "sshd: $failed of $logins logins failed"; exit 1; }
