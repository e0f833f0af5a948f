#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check.sh PROGRAM SYMBOLIZE EXPECTED WORD...: run PROGRAM WORD... and compare all that it
# answers, the words of its reports through SYMBOLIZE, and its exit status with the part of the file
# EXPECTED that begins with the command. What differs from run to run (addresses, ages, threads,
# CPUs) and from build to build (offsets, line numbers, the C library) is replaced by a name first.
#
# UPDATE=1 writes that part instead: look at what git says has changed.
set -u

program=$1
symbolize=$2
expected=$3
shift 3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for variable in $(env | sed -n 's/^\(SLAB_[A-Z_]*\)=.*/\1/p'); do
	unset "$variable"
done
# shellcheck disable=SC3045 # dash has it, and bash
ulimit -c 0
export SLAB_CONTROL=off
# The answers that each run has are left out, but for the run without a bug.
"$program" none >"$folder/usual" 2>/dev/null
"$program" "$@" >"$folder/out" 2>"$folder/err"
status=$?

# What each report says in words. tests/debug has its dumps, hunts.sh its stacks.
words()
{
	grep -E '^(BUG|Allocated|Freed|Detected|FIX|[0-9]+ (of|object))'
}

names()
{
	sed -E \
		-e 's/0x[0-9a-f]{10,16}/ADDRESS/g' \
		-e 's/ age=[0-9]+ ms/ age=N ms/' \
		-e 's/ cpu=[0-9]+ tid=[0-9]+/ cpu=N tid=N/' \
		-e 's/\+0x[0-9a-f]+ \(([^ ]*):[0-9]+\)/+OFFSET (\1:LINE)/' \
		-e 's/^(Detected in )[^ ]*strcpy[^ ]*( \([^)]*\))?/\1strcpy/' \
		-e 's/^(Detected in )([^ ]+ )?\([^ ]*libc[^ ]*\)/\1strcpy/'
}

{
	printf '$ corruption %s\n' "$*"
	case $1 in
	none) cat "$folder/out" ;;
	*) grep -vxFf "$folder/usual" "$folder/out" | sed 's/^1< [0-9] requests/1< N requests/' ;;
	esac
	printf '\n'
	"$symbolize" <"$folder/err" | words | names
	printf '\nexit status %s\n' "$status"
} >"$folder/said"

# part KEEP COMMAND: the part of EXPECTED with this command (1), or the others (0).
part()
{
	awk -v keep="$1" -v command="$2" '/^\$ / { mine = $0 == command } mine == keep' "$expected"
}

if [ "${UPDATE:-}" = 1 ]; then
	{
		flock 9
		part 0 "\$ corruption $*" >"$folder/all"
		{ cat "$folder/all" "$folder/said"; echo; } >"$expected"
	} 9<"${0%/*}"
	exit
fi
part 1 "\$ corruption $*" | sed '$!b;/^$/d' | diff -u - "$folder/said" && exit
echo "--- as it was said:"
cat "$folder/err"
exit 1
