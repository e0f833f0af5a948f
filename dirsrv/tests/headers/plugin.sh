#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A plug-in compiles in C and C++, with <ldap.h> before or after our headers, or without.
# usage: plugin.sh CC CXX INCLUDE-FOLDER none|before|after
set -eu

cc=$1 cxx=$2 include=$3 company=$4
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

ldap='' slab='#include <slab/dirsrv/pblock.h>
#include <slab/dirsrv/slapi_ch.h>'
if [ "$company" != none ]; then
	ldap='#include <ldap.h>'
	if ! echo "$ldap" | "$cc" -x c -fsyntax-only - 2>"$tmp/log"; then
		echo "plugin: <ldap.h> is not installed (libldap-dev)"
		exit 77
	fi
fi
if [ "$company" = before ]; then
	printf '%s\n%s\n' "$ldap" "$slab" >"$tmp/plugin.h"
else
	printf '%s\n%s\n' "$slab" "$ldap" >"$tmp/plugin.h"
fi

try()
{
	echo "$*"
	"$@" -Wall -Wextra -Werror -O2 -I"$include" -include "$tmp/plugin.h" -c -o "$tmp/out.o" \
		"$here/plugin.c"
}

try "$cc" -std=c11
for std in 14 17 20; do
	try "$cxx" -x c++ -std=c++$std
done
