#!/bin/sh
# SPDX-License-Identifier: MIT
#
# All of the library compiles with musl, which has neither _dl_find_object() nor
# strerrordesc_np(). The kernel's headers are the system's.
# usage: musl.sh MUSL-GCC SOURCE-FOLDER FILE...
set -eu

cc=$1 source=$2
shift 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

for folder in linux asm asm-generic; do
	for place in /usr/include "/usr/include/$(gcc -print-multiarch)"; do
		[ ! -d "$place/$folder" ] || ln -sfn "$place/$folder" "$tmp/$folder"
	done
done
for file in "$@"; do
	"$cc" -std=gnu11 -fsyntax-only -mcx16 -Wall -Wextra -Wpedantic -Werror -isystem "$tmp" \
		-I"$source/include" -I"$source/slab" -I"$source/cpu_cache" -D_GNU_SOURCE= \
		-DSLAB_VERSION='"0"' -DSLAB_SYMBOLIZE_FROM_LIB='""' \
		-DSLAB_SYMBOLIZE_INSTALLED='""' "$file"
done
