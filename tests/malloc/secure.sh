#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A program that runs with more rights than its user (AT_SECURE): the user's environment changes
# nothing, so libslab starts no thread, opens no descriptor and switches no debugging on.
# usage: secure.sh CC LIBSLAB_MALLOC LIBSLAB; exits 77 if no such program can run here
set -eu

cc=$1 malloc=$2 slab=$3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

skip()
{
	echo "skipped: $*"
	exit 77
}

[ "$(id -u)" -eq 0 ] || skip "only root can make a program of root's for another user"
command -v setpriv >/dev/null || skip "setpriv is not installed"

cat >"$tmp/program.c" <<'END'
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

static int count(const char *path)
{
	DIR *folder = opendir(path);
	int entries = -3; /* ".", ".." and, of descriptors, the folder itself */

	while (folder && readdir(folder))
		entries++;
	return entries;
}

int main(void)
{
	void *block = malloc(24);

	printf("secure %lu, descriptors %d, threads %d, usable %zu\n", getauxval(AT_SECURE),
	       count("/proc/self/fd"), count("/proc/self/task") + 1, malloc_usable_size(block));
	free(block);
	return 0;
}
END
cp "$malloc" "$tmp/libslab_malloc.so.0"
cp "$slab" "$tmp/libslab.so.0"
# The program itself needs libslab.so.0, or libslab_malloc.so.0 would look for it where it was built,
# in a folder that the other user may not read.
"$cc" -fno-builtin "$tmp/program.c" -o "$tmp/program" -Wl,--no-as-needed "$tmp/libslab_malloc.so.0" \
	"$tmp/libslab.so.0" -Wl,-rpath,"$tmp"
chmod 755 "$tmp" "$tmp"/lib* "$tmp/program"

run() # SETTING…
{
	env "$@" setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$tmp/program" </dev/null 2>"$tmp/stderr"
}

unset SLAB_CONTROL SLAB_DEBUG
expected=$(run | sed 's/secure 0/secure 1/')
plain=$(run SLAB_CONTROL=on SLAB_DEBUG=FZPU) || {
	cat "$tmp/stderr"
	exit 1
}
chmod 4755 "$tmp/program"
secure=$(run SLAB_CONTROL=on SLAB_DEBUG=FZPU)
[ ! -s "$tmp/stderr" ] || { cat "$tmp/stderr"; exit 1; }
case $secure in
"secure 0,"*) skip "the folder of temporary files is mounted with nosuid" ;;
"$expected") ;;
*)
	echo "secure.sh: the program that runs as root says: $secure, instead of: $expected"
	exit 1
	;;
esac
case $plain in
*"threads 1, "* | *"usable 32"*)
	echo "secure.sh: the environment should change this program, which says: $plain"
	exit 1
	;;
esac
