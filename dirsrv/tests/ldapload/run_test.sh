#!/bin/sh
# SPDX-License-Identifier: MIT
#
# ldapload against a server with a directory of --make-ldif, over a local socket.
# usage: run_test.sh PROGRAM-FOLDER
set -eu

ldapload=$1/ldapload ldapd=$1/ldapd
tmp=$(mktemp -d)
server=
stop()
{
	[ -z "$server" ] || kill "$server"
	wait
	rm -rf "$tmp"
}
trap stop EXIT
uri=ldapi://$(printf '%s/socket' "$tmp" | sed 's,/,%2F,g')
root=cn=root,dc=example,dc=com

# ---- the server ----

ldapd_start()
{
	"$ldapd" --listen "ldapi://$tmp/socket" --db "$tmp/data" --ldif "$tmp/people.ldif" \
		--suffix dc=example,dc=com --rootDN $root --rootPassword secret \
		--index uid >"$tmp/log" 2>&1 &
	server=$!
}

mkdir "$tmp/data"
"$ldapload" --make-ldif 500 >"$tmp/people.ldif"
ldapd_start
until ldapsearch -x -H "$uri" -s base >/dev/null 2>&1; do
	kill -0 "$server" || {
		cat "$tmp/log" >&2
		exit 1
	}
	sleep 0.1
done

# ---- checks ----

fail()
{
	printf 'run_test: %s\n' "$*" >&2
	cat "$tmp/out" "$tmp/err" >&2
	exit 1
}

# expect STATUS OPTION...: run ldapload, output in out and err.
expect()
{
	wanted=$1
	shift
	status=0
	"$ldapload" -H "$uri" --values user%06u:0-499 "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
	[ $status = "$wanted" ] || fail "status $status instead of $wanted: $*"
}

# said FILE PATTERN
said()
{
	grep -q -- "$2" "$tmp/$1" || fail "no '$2'"
}

expect 0 -D $root -w secret -c 8 -t 2 --idle 5 --per-connection 7 --operations 2000 --json \
	--mix search=4,or,base,compare,modify,add,bind
python3 - "$tmp/out" <<'END'
import json, sys
found = json.load(open(sys.argv[1], encoding="utf-8"))
kinds = ["search", "or", "base", "compare", "modify", "add", "delete", "bind"]
assert found["all"]["count"] == 2000 == sum(found[kind]["count"] for kind in kinds), found
assert found["search"]["entries"] == found["search"]["count"]
assert found["or"]["entries"] > 5 * found["or"]["count"]
assert found["connect"]["count"] > 200
assert found["unexpected"] == 0 and found["idle_lost"] == 0
for kind in kinds:
    values = [found[kind][name + "_us"] for name in ("p50", "p90", "p99", "p99.9", "max")]
    assert values == sorted(values) and values[0] > 0, values
END
# Each kind by its weight; a kind alone has one. An added entry has its naming attribute once.
expect 0 -D $root -w secret -c 1 --operations 10000 --mix search=7,base=2,bind
said out '^search  *\(6[6-9]\|7[0-4]\).. '
said out '^base  *\(1[6-9]\|2[0-4]\).. '
said out '^bind  *\([7-9]\|1[0-3]\).. '
expect 0 -D $root -w secret --operations 20 --mix add --attribute cn
# Pipelining, a rate, short connections.
expect 0 -c 3 --depth 16 --operations 1000
said out '^search  *1000 '
expect 0 -c 4 --rate 400 --operations 100
said out '^search  *100 '
expect 0 -c 4 --operations 200 --per-connection 5
said out '^connect  *[1-9]'

# What goes wrong is counted, and gives the status.
expect 1 --operations 10 --values absent%u:0-9
said out '^unexpected: 10 search: no entry found (-100)'
expect 1 --operations 10 --mix modify
said out '^unexpected: 10 modify: .*(\(8\|50\))'
expect 1 -D $root -w wrong
said err "^ldapload: bind as '$root': Invalid credentials (49)"

# Nothing is left of what was added.
ldapsearch -x -LLL -H "$uri" -b dc=example,dc=com '(uid=*)' uid >"$tmp/after.ldif"
kill "$server"
wait "$server" || true
server=
[ "$(grep -c '^dn: uid=user' "$tmp/after.ldif")" = 500 ] || fail 'the 500 entries are not there'
! grep -q '^dn: uid=ldapload' "$tmp/after.ldif" || fail 'added entries are left'
expect 1 --seconds 1
said err "^ldapload: ldapi://.*: \(No such file or directory\|Connection refused\)"
