#!/bin/sh
# SPDX-License-Identifier: MIT
#
# directory_test.sh DIRECTORY DIRECTORY-MALLOC FOLDER: run the programs as users do and look at
# what they print and how they end. FOLDER has LDIF files.
# shellcheck disable=SC2086 # $quick and $options are several words
set -u

slab_program=$1
malloc_program=$2
folder=$3
program=$slab_program
out=$(mktemp)
err=$(mktemp)
bad=$(mktemp)
trap 'rm -f "$out" "$err" "$bad"' EXIT
failures=0

fail() {
	echo "FAILED: $1"
	sed 's/^/  out: /' "$out"
	sed 's/^/  err: /' "$err"
	failures=$((failures + 1))
}

# expect STATUS OPTION...: run it and check the exit status.
expect() {
	wanted=$1
	shift
	"$program" "$@" >"$out" 2>"$err"
	status=$?
	echo "directory $*: status $status"
	[ $status -eq "$wanted" ] || fail "status $status, not $wanted: directory $*"
}

says() {
	grep -q -e "$1" "$out" || fail "the output lacks: $1"
}

complains() {
	grep -q -e "$1" "$err" || fail "the error output lacks: $1"
}

one_message() {
	[ "$(wc -l <"$err")" -eq 1 ] || fail "more than one line: $1"
}

quick="--entries 2000 --seconds 0.2"

# What pblocks take: a flat one has 712 bytes at least, the split one a quarter at most.
pblocks() {
	sed -n 's/^  pblocks  \([0-9.]*\) per operation, \([0-9]*\) bytes$/\1 \2/p' "$out"
}

# One program after the other, on a good file.
expect 0 --ldif "$folder/good.ldif" $quick
says 'Loaded 3 entries of .*good.ldif'
says 'multiplied to 2,000'
says 'op/s'
says 'libslab: .* operations in [0-9.]* s'
[ -s "$err" ] && fail 'a good file brings complaints'
on_slab=$(pblocks)

program=$malloc_program
expect 0 --ldif "$folder/good.ldif" $quick
says 'malloc: .* operations in [0-9.]* s'
program=$slab_program
echo "$on_slab $(pblocks)" | awk '{ exit !($1 >= 8 && $3 >= 8 && $2 >= 64 * $1 &&
	$4 >= 64 * $3) }' || fail "pblocks do not add up: $on_slab, $(pblocks)"

# As many threads as entries to work on, and more than that.
expect 0 --ldif "$folder/good.ldif" --entries 1 --seconds 0.2 --threads 5

# The package catalogue, where there is one.
if [ -s /var/lib/dpkg/status ]; then
	expect 0 $quick --threads 2
	says 'Loaded .* entries of /var/lib/dpkg/status'
fi

# Bad lines are reported once with their numbers, and skipped. What is one: ../ldapd/ldif_test.py.
printf 'no colon\nchangetype: delete\n\ndn: uid=ada,dc=example,dc=com\nuid: ada\n\ndn: nothing\nuid: x\n' |
	cat "$folder/good.ldif" - >"$bad"
expect 0 --ldif "$bad" $quick
complains "$bad:21: no ':' in the line"
complains "$bad:22: this is a change record"
complains "$bad:24: an entry of this DN exists"
complains "$bad:27: this is no DN"
[ "$(wc -l <"$err")" -eq 4 ] || fail 'four bad lines bring four complaints'
says '(4 bad lines skipped)'
yes bad | head -n 50 | cat "$folder/good.ldif" - >"$bad"
expect 0 --ldif "$bad" $quick
complains '30 more bad lines'

# What cannot be done is one error message, with status 2.
for options in '--seconds 0' '--seconds x' '--seconds nan' '--threads 0' '--threads 65' \
	'--threads -1' '--entries 0' '--entries 1x' '--entries 99999999999999999999' \
	'--nonsense' '--ldif' 'file.ldif' '--ldif /nonexistent' \
	'--ldif /' '--ldif /dev/null'; do
	expect 2 $options
	one_message "$options"
	[ -s "$out" ] && fail "something was done in spite of $options"
done

expect 0 --help
says '^usage: directory'

[ $failures -eq 0 ] || echo "$failures failures"
[ $failures -eq 0 ]
