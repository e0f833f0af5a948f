#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The README rule refuses what it is there for.
# usage: readme_rule.sh PROJECT
set -eu

project=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/cpu_cache" "$tmp/tests/unit"
cd "$tmp"
echo 'TEST(Suite, Case) {}' >tests/unit/a_test.cc
: >tests/unit/a.sh

# is STATUS LINE [TEXT]: what the rule says of a README.md with this line.
is()
{
	printf '# cpu_cache\n\nMay include: nothing.\n\n%s\n' "$2" >cpu_cache/README.md
	status=0
	"$project/tools/lint/readme-rule" "$tmp" >log 2>&1 || status=$?
	grep -qF "${3-}" log || [ $# -lt 3 ] || status="$status, without the text"
	[ "$status" = "$1" ] || {
		cat log
		echo "readme_rule: $2: expected $1 ${3-}, got $status"
		exit 1
	}
}

# shellcheck disable=SC2016
{
	is 0 'nothing'
	is 0 '- **A.1** All is well. `Suite.Case`'
	is 0 '- **A.1** All is well. `tests/unit/a.sh`'
	is 0 '- **A.1** All is well (no test).'
	is 1 '- **A.1** All is well. `Suite.Other`' 'A.1 cites Suite.Other, which is no test'
	is 1 '- **A.1** All is well. `tests/unit/b.sh`' 'A.1 cites tests/unit/b.sh'
	is 1 '- **A.1** All is well in `a.c`.' 'A.1 cites no test'
	is 1 "$(printf '%s\n%s' '- **A.1** One. `Suite.Case`' '- **A.1** Two. `Suite.Case`')" \
		'A.1 is an invariant of cpu_cache/README.md'
}
echo '# cpu_cache' >cpu_cache/README.md
"$project/tools/lint/readme-rule" "$tmp" >log && exit 1
grep -qF 'does not say what the folder "May include"' log
rm cpu_cache/README.md
"$project/tools/lint/readme-rule" "$tmp" >log && exit 1
grep -qF 'cpu_cache: has no README.md' log
