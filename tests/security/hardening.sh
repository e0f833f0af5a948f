#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What is installed is compiled and linked as docs/security.md says: readelf on each file.
# usage: hardening.sh ARCHIVE FILE...
set -eu

archive=$1
shift
failed=0

# check FILE WHAT PATTERN OPTION...: readelf's output has the pattern.
check()
{
	file=$1 what=$2 pattern=$3
	shift 3
	readelf -W "$@" "$file" | grep -qE "$pattern" || {
		echo "hardening: $file: no $what"
		failed=1
	}
}

# refuse FILE WHAT PATTERN OPTION...
refuse()
{
	file=$1 what=$2 pattern=$3
	shift 3
	if readelf -W "$@" "$file" | grep -E "$pattern"; then
		echo "hardening: $file: $what"
		failed=1
	fi
}

for file in "$@"; do
	check "$file" "relro" 'GNU_RELRO' -l
	check "$file" "immediate binding" 'BIND_NOW|FLAGS.* NOW' -d
	check "$file" "position-independent code" 'Type: +DYN' -h
	check "$file" "header of the stack" 'GNU_STACK' -l
	refuse "$file" "an executable stack" 'GNU_STACK.* RWE' -l
	refuse "$file" "memory to write and to execute" 'LOAD.* RWE' -l
	refuse "$file" "relocations in code" 'TEXTREL' -d
	check "$file" "stack protector" '__stack_chk_fail' --dyn-syms
	case $file in
	*.so*) ;;
	*) check "$file" "position-independent program" 'FLAGS_1.* PIE' -d ;;
	esac
done

# The linker marks a library only if the C library's start files have the mark, too; those of
# Debian 12 do not. So the objects are looked at.
case $(uname -m) in
x86_64) mark='x86 feature: IBT, SHSTK' ;;
aarch64) mark='AArch64 feature: BTI, PAC' ;;
esac
objects=$(ar t "$archive" | wc -l)
marked=$(readelf -nW "$archive" | grep -c "$mark") || true
if [ "$objects" -le 100 ] || [ "$objects" != "$marked" ]; then
	echo "hardening: $archive: $marked of $objects objects have the mark $mark"
	failed=1
fi
exit $failed
