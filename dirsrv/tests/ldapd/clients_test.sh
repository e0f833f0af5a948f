#!/bin/sh
# SPDX-License-Identifier: MIT
#
# ldapd as Debian's ldap-utils use it; more of its answers: answers_test.py. Each check has a
# command, and a line that its output must have, or must not have.
# usage: clients_test.sh LDAPD [OPTION...]
set -eu
program=$1
shift
folder=$(mktemp -d)
server=
failures=0

finish()
{
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	rm -rf "$folder"
}
trap finish EXIT

# wait_for WORDS: until the log has them, or the server has ended.
wait_for()
{
	until grep -q "$1" "$folder/log"; do
		kill -0 "$server" 2>/dev/null || {
			cat "$folder/log"
			exit 1
		}
		sleep 0.05
	done
}

start()
{
	# The shell opens the log for the server in a process of its own: what an earlier one wrote
	# must be gone before.
	: >"$folder/log"
	SLAB_LEAK_CHECK='exit' "$program" --listen ldap://127.0.0.1:0 --listen "ldapi://$socket" \
		--rootDN cn=admin --rootPassword secret --suffix dc=example,dc=com --fsync no \
		--db "$folder/db" \
		"$@" >"$folder/log" 2>&1 &
	server=$!
	wait_for 'listening on ldapi'
	uri=$(sed -n 's/.*listening on \(ldap:.*\)/\1/p' "$folder/log")
}

# failed_with_log WORDS
failed_with_log()
{
	echo "FAILED: $1"
	tail -n 100 "$folder/log"
	failures=$((failures + 1))
}

# stop: the server must end with status 0, without a report of libslab, a leak for example, or of
# a sanitizer.
stop()
{
	kill "$server"
	wait "$server" || failed_with_log "exit status $?"
	server=
	! grep -q -e '^BUG ' -e 'Sanitizer: ' -e 'runtime error: ' "$folder/log" ||
		failed_with_log "a report"
}

# check WHAT STATUS WORDS COMMAND...: WORDS is a regular expression for a line of the output; with
# '!' in front no line may match.
check()
{
	what=$1 status=$2 words=$3
	shift 3
	got=0
	output=$("$@" 2>&1 </dev/null) || got=$?
	good=yes
	[ "$got" = "$status" ] || good=no
	case $words in
	'!'*) ! printf '%s\n' "$output" | grep -q "${words#!}" || good=no ;;
	*) printf '%s\n' "$output" | grep -q "$words" || good=no ;;
	esac
	[ "$good" = yes ] || {
		echo "FAILED: $what: status $got instead of $status, or not '$words':"
		printf '%s\n' "$output"
		failures=$((failures + 1))
	}
}

search() { ldapsearch -x -H "$uri" -LLL -o ldif-wrap=no "$@"; }
as_root() { tool=$1; shift; "$tool" -x -H "$uri" -D cn=admin -w secret "$@"; }

# feed TEXT COMMAND...: a command that reads LDIF, with \n in the text.
feed()
{
	printf '%b' "$1" >"$folder/input"
	shift
	"$@" -f "$folder/input"
}

cat >"$folder/data.ldif" <<'LDIF'
dn: dc=example,dc=com
objectClass: top
objectClass: domain
dc: example

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people

dn: uid=ann,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: ann
cn: Ann Archer
sn: Archer
mail: ann@example.com
telephoneNumber: 123
userPassword: cleartext

dn: uid=salted,ou=people,dc=example,dc=com
objectClass: account
objectClass: simpleSecurityObject
uid: salted
userPassword: {SSHA}F9gYgVDLl6QAVQ2h3ZDrtYq0WjBzYWx0c2FsdA==

dn: uid=hashed,ou=people,dc=example,dc=com
objectClass: account
objectClass: simpleSecurityObject
uid: hashed
userPassword: {crypt}$6$abcdefgh$.Wd8gKGVv/NncIZyKrLIzwkMBRaL8yZnKz4uttpMUnlKvNdwooVmeCTgyWEOW0Smhyp/TUAtWmcz4ptHHh/u1/
LDIF
socket=$(printf %s "$folder/socket" | sed 's,/,%2F,g')
people=ou=people,dc=example,dc=com
ann=uid=ann,$people
start --ldif "$folder/data.ldif" "$@"

# --- root DSE, schema, monitor ---
check 'root DSE: user attributes' 0 '^objectClass: top' search -b '' -s base
check 'root DSE: operational attributes on demand' 0 '!namingContexts' search -b '' -s base
check 'root DSE: naming contexts' 0 '^namingContexts: dc=example,dc=com' search -b '' -s base +
check 'monitor: a cache' 0 '^objects: [1-9]' \
	search -b cn=ldapd.connection,cn=caches,cn=monitor -s base objects
check 'monitor: the server' 0 '^connections: [1-9]' search -b cn=server,cn=monitor connections

check 'monitor: no such entry' 32 'Matched DN: cn=monitor' search -b cn=x,cn=monitor
check 'monitor: a size limit' 4 'Size limit exceeded' search -z 1 -b cn=monitor

# --- bind ---
check 'whoami: anonymous' 0 '^anonymous' ldapwhoami -x -H "$uri"
check 'whoami: root' 0 '^dn:cn=admin' as_root ldapwhoami
check 'whoami: an entry' 0 "^dn:$ann" ldapwhoami -x -H "$uri" -D "$ann" -w cleartext
check 'SASL is refused' 7 'Authentication method not supported' ldapwhoami -Y EXTERNAL -H "ldapi://$socket"
check 'a wrong password' 49 'Invalid credentials' ldapwhoami -x -H "$uri" -D "$ann" -w wrong
check 'a password hashed with crypt()' 0 "^dn:uid=hashed" \
	ldapwhoami -x -H "$uri" -D "uid=hashed,$people" -w pass
check 'a password of another scheme' 49 'Invalid credentials' \
	ldapwhoami -x -H "$uri" -D "uid=salted,$people" -w '{SSHA}F9gYgVDLl6QAVQ2h3ZDrtYq0WjBzYWx0c2FsdA=='
check 'the log says why' 0 'uid=salted.*scheme that is not supported' cat "$folder/log"
check 'an entry that does not exist' 49 'Invalid credentials' \
	ldapwhoami -x -H "$uri" -D uid=nobody,dc=example -w wrong
check 'StartTLS is refused' 1 'Protocol error' ldapwhoami -x -H "$uri" -ZZ

# --- search ---
check 'equality' 0 "^dn: $ann" search -b dc=example,dc=com '(uid=ANN)'
check 'attribute list' 0 '!^sn:' search -b "$ann" cn
check 'types only' 0 '^cn:$' search -A -b "$ann" cn
check '1.1' 0 '!^cn:' search -b "$ann" 1.1
check 'operational attributes' 0 '^createTimestamp: ' search -b "$ann" +
check "paged results are all in one" 0 "^dn: $ann" search -E pr=1/noprompt -b dc=example,dc=com
check 'an unknown critical control' 12 'Critical extension' \
	search -e '!1.2.3.4' -b dc=example,dc=com

# --- access ---
check 'userPassword is not sent' 0 '!userPassword' search -b "$ann" '*' userPassword
check 'not to root either' 0 '!userPassword' as_root ldapsearch -LLL -b "$ann" userPassword 2.5.4.35
check 'a filter does not tell a password' 0 '!^dn:' \
	as_root ldapsearch -LLL -b "$ann" '(userPassword=cleartext)'
check 'nor by its absence' 0 '!^dn:' as_root ldapsearch -LLL -b "$ann" '(!(userPassword=x))'
check 'compare does not tell a password' 50 'Insufficient access' \
	as_root ldapcompare "$ann" userPassword:cleartext
check 'anonymous cannot write' 8 'Strong(er) authentication' ldapdelete -x -H "$uri" "$ann"
check 'an entry cannot write' 50 'Insufficient access' \
	ldapdelete -x -H "$uri" -D "$ann" -w cleartext "$people"

# --- changes ---
bob=uid=bob,$people
check 'add' 0 'adding new entry' \
	feed "dn: $bob\nobjectClass: inetOrgPerson\nuid: bob\ncn: Bob\nsn: B\n" as_root ldapadd
check 'modify' 0 'modifying entry' \
	feed "dn: $bob\nchangetype: modify\nadd: mail\nmail: b@x\nmail: c@x\n-\nreplace: sn\nsn: Builder\n" \
	as_root ldapmodify
check 'the values are there' 0 '^sn: Builder' as_root ldapsearch -LLL -b "$bob"
check 'delete a value' 0 'modifying entry' \
	feed "dn: $bob\nchangetype: modify\ndelete: mail\nmail: b@x\n" as_root ldapmodify
check 'compare: true' 6 'TRUE' as_root ldapcompare "$bob" 'sn:builder'
check 'rename' 53 'keep their names' as_root ldapmodrdn -r "$bob" uid=rob
check 'delete' 0 '' as_root ldapdelete "$bob"
check 'compare on the root DSE' 53 'can only be searched' as_root ldapcompare '' vendorName:x
check 'a change of cn=monitor' 53 'can only be searched' as_root ldapdelete cn=server,cn=monitor

# --- what was written survives ---
stop
start --anonymousRead FALSE "$@"
check 'anonymous may not read' 8 'Strong(er) authentication' search -b dc=example,dc=com
check 'but sees the root DSE' 0 '^objectClass: top' search -b '' -s base
check 'entries are still there' 0 "^dn: $ann" as_root ldapsearch -LLL -b dc=example,dc=com
stop
[ "$failures" = 0 ] || exit 1
