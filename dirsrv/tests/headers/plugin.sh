#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A plug-in compiles in C and C++ with our headers alone, with <ldap.h>, and with the declarations of
# a server's <slapi-plugin.h> (slapi_stub.h), before or after them. None of them defines a function.
# usage: plugin.sh CC CXX INCLUDE-FOLDER none|ldap|slapi
set -eu

cc=$1 cxx=$2 include=$3 company=$4
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

case $company in
ldap) other='#include <ldap.h>' ;;
slapi) other='#include "slapi_stub.h"' ;;
*) other= ;;
esac
if ! echo "$other" | "$cc" -x c -I"$here" -fsyntax-only - 2>"$tmp/log"; then
	echo "plugin: <ldap.h> is not installed (libldap-dev)"
	exit 77
fi
ours='#include <slab/dirsrv/pblock.h>
#include <slab/dirsrv/slapi_ch.h>'
printf '%s\n%s\n' "$ours" "$other" >"$tmp/first.h"
printf '%s\n%s\n' "$other" "$ours" >"$tmp/last.h"

try()
{
	for order in first last; do
		echo "$* $order"
		"$@" -Wall -Wextra -Werror -O2 -I"$include" -I"$here" -include "$tmp/$order.h" \
			-c -o "$tmp/out.o" "$here/plugin.c"
		nm "$tmp/out.o" | grep -q ' U slapi_ch_malloc$'
	done
}

try "$cc" -std=c11
for std in 14 17 20; do
	try "$cxx" -x c++ -std=c++$std
done
