#!/bin/sh
# SPDX-License-Identifier: MIT
#
# directory_test.sh PROGRAM FOLDER FAILING USELESS: run the demo as users do and look at what it
# prints and how it ends. FAILING is a library that ends every program that loads it,
# USELESS one without malloc().
# shellcheck disable=SC2086 # $quick and $options are several words
set -u

program=$1
folder=$2
failing=$3
useless=$4
out=$(mktemp)
err=$(mktemp)
libraries=$(mktemp -d)
trap 'rm -rf "$out" "$err" "$libraries"' EXIT
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

quick="--entries 2000 --seconds 1 --slabinfo off"

# One side after the other, on a good file.
expect 0 --once --ldif "$folder/good.ldif" $quick
says 'Loaded 3 entries of .*good.ldif'
says 'multiplied to 2,000'
says 'op/s'
says 'libslab: .* operations in 1'
says '^  db.entry  *[0-9]'
says '^  pblock  *64 '
says '^  operation  *[0-9]'
says 'What to try next'
[ -s "$err" ] && fail 'a good file brings complaints'

expect 0 --malloc --ldif "$folder/good.ldif" $quick
says 'malloc: .* operations in 1'

# The comparison, with the allocators that this machine has.
expect 0 --ldif "$folder/good.ldif" $quick
says 'Round 1 of 1 on libslab'
says 'Round 1 of 1 on glibc'
for allocator in jemalloc tcmalloc mimalloc; do
	if grep -q "^not compared: $allocator (" "$out"; then
		grep -q "^ .* libslab .* $allocator .* ratio$" "$out" && fail "$allocator has a column"
	else
		says "^Round 1 of 1 on $allocator (/.*)$"
		says "^ .* libslab  *glibc .*$allocator .* ratio$"
	fi
done
awk '/^ .* libslab .* ratio$/ { columns = NF }
	/^operations\/s/ && NF == columns + 1 { rows++ }
	/^MiB resident at the end/ && NF == columns + 5 { rows++ }
	/^The same load/, /^Pblocks/ { if (length > 80) long = 1 }
	END { exit rows != 2 || long }' "$out" || fail 'the table has not its columns, or is too wide'

# What pblocks take: a flat one has 712 bytes at least, the split one a quarter at most.
awk '/^pblocks per operation/ { slab = $4; other = $5 }
	/^pblock bytes per operation/ { slab_bytes = $5; other_bytes = $6 }
	END { exit !(slab >= 8 && other >= 8 && slab_bytes >= 64 * slab &&
		other_bytes >= 712 * other && slab_bytes * 4 < other_bytes) }' "$out" ||
	fail 'the pblocks of the comparison do not add up'

# The picture of that load is where it says, and made of what this load does.
picture=$(sed -n 's/^  \(.*pblock-profile\)\.svg.*/\1/p' "$out")
grep -q '</svg>' "$picture.svg" || fail "no picture: $picture.svg"
grep -q 'SLAPI_SEARCH_RESULT_ENTRY' "$picture.txt" || fail "no report: $picture.txt"

# One that is absent, no library, fails or does nothing is named, and the demo goes on.
cp "$failing" "$libraries/libjemalloc.so.2"
cp "$useless" "$libraries/libmimalloc.so.2"
expect 0 --allocators "$libraries" --ldif "$folder/good.ldif" $quick
says '^not compared: jemalloc (libjemalloc.so.2 is installed, but its process failed)$'
says '^not compared: tcmalloc (libtcmalloc_minimal.so.4 is not installed)$'
says '^not compared: mimalloc (libmimalloc.so.2 is installed, but has not replaced malloc())$'
says '^  *libslab  *glibc  *ratio$'
complains '^directory: directory-malloc ended with status 3$'
one_message 'a library that ends the program'
echo 'no library' >"$libraries/libjemalloc.so.2"
rm "$libraries/libmimalloc.so.2"
expect 0 --allocators "$libraries" --ldif "$folder/good.ldif" $quick
says '^not compared: jemalloc (libjemalloc.so.2 is not installed)$'
[ "$(grep -c '^not compared: ' "$out")" -eq 3 ] || fail 'three allocators are absent'
[ -s "$err" ] && fail 'absent allocators bring complaints'

# What the user preloads is loaded into every side, and the column glibc has its malloc().
export LD_PRELOAD="$useless"
expect 0 --allocators "$libraries" --ldif "$folder/good.ldif" $quick
unset LD_PRELOAD
says '^LD_PRELOAD is set: the column glibc has the malloc() of /.*libc'

# As many threads as entries to work on, and more than that.
expect 0 --once --ldif "$folder/good.ldif" --entries 1 --seconds 0.2 --threads 5 --slabinfo off

# The package catalogue, where there is one.
if [ -s /var/lib/dpkg/status ]; then
	expect 0 --once $quick --threads 2
	says 'Loaded .* entries of /var/lib/dpkg/status'
fi

# The hunt that ends the demo: switched on, reported, switched off, and all is sound.
expect 0 --hunt --ldif "$folder/good.ldif" --entries 2000 --seconds 3
says '^\$ slabinfo --pid [0-9]* -da db.entry$'
says '^db.entry .*debug flags: none -> FZPU'
says '^\$ kill -USR1 '
says '^db.entry .*debug flags: FZPU -> none'
says 'are sound, and no cache has an object left'
complains '^BUG db.entry: Right Redzone overwritten$'
complains '^Allocated in .*(worker-[0-9]*)$'
complains '^FIX db.entry: Object at 0x[0-9a-f]* not freed$'
[ "$(grep -c '^BUG' "$err")" -eq 1 ] || fail 'one byte brings one report'

# Without slabinfo nothing is damaged.
expect 0 --hunt --ldif "$folder/good.ldif" --entries 2000 --seconds 0.5 --slabinfo off
says 'the bug is left out'
[ -s "$err" ] && fail 'a report of a bug that was left out'

# A missing slabinfo is said, and nothing else happens.
expect 0 --once --ldif "$folder/good.ldif" --seconds 0.5 --slabinfo /nonexistent/slabinfo
says '(slabinfo is not shown: /nonexistent/slabinfo: '

# Bad lines are reported once with their numbers, and skipped...
expect 0 --allocators "$libraries" --ldif "$folder/bad.ldif" $quick
complains "bad.ldif:7: no ':' in the line"
complains 'bad.ldif:10: the record does not start with its DN'
complains 'bad.ldif:15: the value is no base64'
complains 'bad.ldif:16: values from URLs'
complains 'bad.ldif:19: an entry of this DN exists'
complains 'bad.ldif:23: this is a change record'
complains 'bad.ldif:25: no entry can be made of this record'
[ "$(wc -l <"$err")" -eq 7 ] || fail 'seven bad lines bring seven complaints'
says '(7 bad lines skipped)'

# ... or refused, with nothing done.
for side in --once --malloc --slabinfo=off; do
	expect 2 $side --bad-lines=refuse --ldif "$folder/bad.ldif"
	complains "bad.ldif:7: .*; nothing is loaded"
	one_message 'the first bad line is reported'
	[ -s "$out" ] && fail 'something was done in spite of a bad line'
done

# What cannot be done is one error message, with status 2.
for options in '--seconds 0' '--seconds x' '--seconds nan' '--threads 0' '--threads 65' \
	'--threads -1' '--entries 0' '--entries 1x' '--entries 99999999999999999999' \
	'--bad-lines=ignore' '--nonsense' '--ldif' 'file.ldif' '--ldif /nonexistent' \
	'--ldif /' '--ldif /dev/null'; do
	expect 2 $options
	one_message "$options"
	[ -s "$out" ] && fail "something was done in spite of $options"
done

expect 0 --help
says '^usage: directory'
"$folder/../../run" demo --help >"$err" 2>&1 || fail 'run demo --help'
cmp -s "$out" "$err" || fail 'run demo --help prints something else'

[ $failures -eq 0 ] || echo "$failures failures"
[ $failures -eq 0 ]
