#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: race_test.sh PROGRAM
#
# ThreadSanitizer reports no race in a correct program that uses libslab, and the race of a racy one.
set -u
program=$1
out=$(mktemp)
trap 'rm -f "$out"' EXIT
export SLAB_CONTROL=off TSAN_OPTIONS=exitcode=66

# run WORD: how many races ThreadSanitizer reports.
run()
{
	"$program" "$1" >"$out" 2>&1
	status=$?
	if [ $status -ne 0 ] && [ $status -ne 66 ]; then
		cat "$out"
		echo "race_test: $1 ends with status $status"
		exit 1
	fi
	grep -c 'WARNING: ThreadSanitizer: data race' "$out"
}

races=$(run correct)
if [ "$races" != 0 ]; then
	cat "$out"
	echo "race_test: $races races in the correct program"
	exit 1
fi
races=$(run racy)
if [ "$races" = 0 ] || ! grep -q 'race.c:' "$out"; then
	cat "$out"
	echo 'race_test: the race is not reported'
	exit 1
fi
