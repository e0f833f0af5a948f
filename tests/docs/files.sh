#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every file and test that a document names exists, and every link leads to a file and a heading.
# Documents are the .md files, the manual pages and the public headers. A name is a path
# from the top folder, a path from the document's folder, or the end of a path; * stands
# for any characters.
# usage: files.sh TOP-FOLDER
set -eu

cd "$1"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

find . \( -name .git -o -name build -o -name '.cache' \) -prune -o -type f -print | sed 's,^\./,,' | sort >"$tmp/files"
grep -E '\.md$|^(dirsrv/)?docs/man/|^(dirsrv/)?include/.*\.(h|hpp)$' "$tmp/files" >"$tmp/documents"
[ "$(wc -l <"$tmp/documents")" -gt 60 ]

# Listings of a document are files beside it: the first line is a comment with the name.
while read -r document; do
	sed -n "s,^/\* \([a-z_]*\.c\): .*,$(dirname "$document")/\1,p" "$document"
done <"$tmp/documents" >>"$tmp/files"

# DOCUMENT NAME, for each name in backquotes and each path from a top folder; not products of a
# build, and not memory.trace, which is a row of a benchmark.
while read -r document; do
	# shellcheck disable=SC2016
	{
		grep -oE '`[A-Za-z0-9_./*-]+\.(c|h|cc|hpp|py|sh|md|cmake|def|map|trace|ldif|service)`' "$document" |
			tr -d '`'
		grep -oE '(docs|examples|tools|cpu_cache|dirsrv|tests|benchmarks|cmake)/[A-Za-z0-9_./-]*[a-z]\.(c|h|cc|hpp|py|sh|md|json|cmake)' "$document"
	} | grep -v -e '^build/' -e VERSION -e '^memory\.trace$' | sort -u | sed "s,^,$document ,"
done <"$tmp/documents" >"$tmp/names"
[ "$(wc -l <"$tmp/names")" -gt 200 ]

awk '
	NR == FNR { files[$0]; n++; all = all $0 "\n"; next }
	# shellcheck disable=SC2016
	{
		folder = $1
		if (!sub("/[^/]*$", "/", folder))
			folder = ""
		name = $2
		while (sub(/^\.\.\//, "", name) || sub(/[^\/]+\/\.\.\//, "", name))
			;
		if (name in files || (folder name) in files)
			next
		pattern = name
		gsub(/\./, "[.]", pattern)
		gsub(/\*/, "[^/\n]*", pattern)
		if (("\n" all) !~ ("[\n/]" pattern "\n"))
			print $1 ": there is no file " $2
	}' "$tmp/files" "$tmp/names" >"$tmp/wrong"

# The headings of all documents, as links name them.
while read -r document; do
	case $document in *.md) ;; *) continue ;; esac
	awk -v document="$document" '
		/^```/ { code = !code }
		!code && /^#+ / {
			heading = tolower(substr($0, index($0, " ") + 1))
			gsub(/[^a-z0-9 _-]/, "", heading)
			gsub(/ /, "-", heading)
			print document "#" heading
		}' "$document"
done <"$tmp/documents" >"$tmp/headings"

while read -r document; do
	case $document in *.md) ;; *) continue ;; esac
	folder=$(dirname "$document")
	grep -oE '\]\([^) ]+\)' "$document" | sed 's/^](//; s/)$//' | grep -v '^https\{0,1\}:' |
		while IFS= read -r link; do
			file=${link%%#*}
			[ -z "$file" ] || [ -e "$folder/$file" ] || {
				echo "$document: link to $link: there is no such file"
				continue
			}
			case $link in
			*'#'*) ;;
			*) continue ;;
			esac
			target=$document
			[ -z "$file" ] || target=$(realpath --relative-to=. "$folder/$file")
			grep -qxF "$target#${link#*#}" "$tmp/headings" ||
				echo "$document: link to $link: there is no such heading"
		done
done <"$tmp/documents" >>"$tmp/wrong"

# `Suite.Test` of GoogleTest and `Class.test_name` of Python: some test has that name.
grep -rhIowE '[A-Z][A-Za-z0-9]+|test_[a-z0-9_]+' tests dirsrv/tests | sort -u >"$tmp/words"
while read -r document; do
	# shellcheck disable=SC2016
	grep -oE '`[A-Z][A-Za-z0-9]+\.([A-Z][A-Za-z0-9]+|test_[a-z0-9_]+)`' "$document" | tr -d '`' | grep -v '\.[A-Z]*$' |
		while read -r name; do
			grep -qxF "${name#*.}" "$tmp/words" || echo "$document: there is no test $name"
		done
done <"$tmp/documents" >>"$tmp/wrong"

cat "$tmp/wrong"
[ ! -s "$tmp/wrong" ]
