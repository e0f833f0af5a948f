#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: annotate_test.sh memcheck|asan PROGRAM
#
# valgrind's memcheck and AddressSanitizer see objects of caches as malloc's.
set -eu
tool=$1 program=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export SLAB_CONTROL=off
failed=0

run()
{
	if [ "$tool" = memcheck ]; then
		valgrind -q --error-exitcode=99 --leak-check=full --show-leak-kinds=definite \
			"$program" "$1" >"$folder/out" 2>&1
	else
		ASAN_OPTIONS=exitcode=99:detect_leaks=0 "$program" "$1" >"$folder/out" 2>&1
	fi
}

# expect STATUS KIND WORDS: the run ends so and says the words.
expect()
{
	status=0
	run "$2" || status=$?
	if [ "$status" != "$1" ] || ! grep -qE "$3" "$folder/out"; then
		echo "annotate_test: $tool, $2: status $status instead of $1, or not \"$3\" in:"
		cat "$folder/out"
		failed=1
	fi
}

status=0
run fine || status=$?
if [ "$status" != 0 ] || [ -s "$folder/out" ]; then
	echo "annotate_test: $tool minds what is fine (status $status):"
	cat "$folder/out"
	failed=1
fi
if [ "$tool" = memcheck ]; then
	expect 99 after-free 'is 3 bytes inside a block of size 60 free.d'
	expect 99 beyond 'is 0 bytes after a block of size 60 alloc.d'
	expect 99 before 'is 1 bytes before a block of size 60 alloc.d'
	expect 99 malloc-beyond 'is 1 bytes after a block of size 18 alloc.d'
	expect 99 uninitialised 'uninitialised'
	expect 99 leak '60 bytes in 1 blocks are definitely lost'
else
	expect 99 after-free 'AddressSanitizer: use-after-poison'
	expect 99 beyond 'AddressSanitizer: use-after-poison'
	expect 99 before 'AddressSanitizer: use-after-poison'
	expect 99 malloc-beyond 'AddressSanitizer: use-after-poison'
fi
# reports KIND WORDS: libslab sees this free, whatever the tool says of it.
reports()
{
	run "$1" || true
	if ! grep -qF "$2" "$folder/out"; then
		echo "annotate_test: $tool, $1: not \"$2\" in:"
		cat "$folder/out"
		failed=1
	fi
}

reports free-twice 'BUG entry: Object already free'
reports free-twice-apart 'BUG entry: Object already free'
reports free-in-turns 'BUG entry: Object already free'
reports free-elsewhere 'BUG entry: Object already free'
reports free-after-shrink 'BUG entry: '
reports free-into 'BUG entry: Invalid object pointer'
reports free-of-another 'BUG entry: Wrong slab cache'
reports free-of-stack 'BUG entry: Attempt to free object'
reports free-of-global 'BUG entry: Attempt to free object'
reports free-of-malloc 'BUG entry: Attempt to free object'
reports free-wild 'BUG entry: Attempt to free object'
SLAB_TOOLS=off
export SLAB_TOOLS
status=0
run after-free || status=$?
if [ "$status" = 99 ]; then
	echo "annotate_test: $tool got annotations in spite of SLAB_TOOLS=off"
	failed=1
fi
exit $failed
