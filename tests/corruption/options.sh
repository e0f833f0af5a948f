#!/bin/sh
# SPDX-License-Identifier: MIT
#
# options.sh PROGRAM EXPECTED: what examples/corruption makes of its options, and that
# EXPECTED has an expected report for every bug that it knows.
set -u

program=$1
expected=$2
err=$(mktemp)
trap 'rm -f "$err"' EXIT
failures=0

fail()
{
	echo "FAILED: $1"
	sed 's/^/  err: /' "$err"
	failures=$((failures + 1))
}

# refused MESSAGE WORD...: exit status 2 and, first, this message; nothing is run.
refused()
{
	message=$1
	shift
	out=$("$program" "$@" 2>"$err")
	status=$?
	[ $status -eq 2 ] || fail "status $status, not 2: corruption $*"
	[ -z "$out" ] || fail "something was done: corruption $*"
	[ "$(head -n 1 "$err")" = "corruption: $message" ] ||
		fail "corruption $* is not answered by: $message"
}

refused "'flood' is none of the bugs; there are:" flood
grep -q '^  overflow  ' "$err" || fail 'the bugs are not listed'
refused "'' is none of the bugs; there are:"
refused "'leak' is one word too many: one bug at a time" overflow leak
refused "'--colour' is no option; --help shows what there is" overflow --colour
refused "'--debug' needs a value" overflow --debug
refused "'FX' has characters that are no debug flags: F Z P U T A" overflow --debug FX
refused "'0' is not what --sample takes, a number from 1 to 10000000" leak --sample 0
refused "'1s' is not what --seconds takes, a number from 1 to 10000000" leak --seconds 1s

"$program" --help >"$err" || fail '--help fails'
grep -q '^usage: corruption BUG' "$err" || fail '--help does not say how it is used'

"$program" --list >"$err" || fail '--list fails'
# shellcheck disable=SC2013 # words, one in each line
for bug in $(awk '{ print $1 }' "$err"); do
	grep -q "^\$ corruption $bug " "$expected" || fail "no report is expected of $bug"
done
[ $failures -eq 0 ]
