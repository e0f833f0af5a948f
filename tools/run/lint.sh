# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # the lists of packages.sh
#
# What is checked and made before a release: lint, packages.

# sources: every C and C++ file of the project.
sources()
{
	git ls-files -- '*.c' '*.h' '*.cc' '*.hpp' | while read -r file; do
		[ ! -f "$file" ] || printf '%s\n' "$file"
	done
}

# All checks run, whatever the one before found: each takes longer than those before it.
cmd_lint()
{
	# shellcheck disable=SC2086
	need "lint" $lint_packages
	status=0
	say "shellcheck, mandoc, codespell"
	tools/lint/text || status=1
	say "clang-format"
	sources | xargs clang-format-19 --dry-run -Werror || status=1
	# Objects for the symbol rule. Tests are compiled by clang-tidy, without the
	# headers that are precompiled otherwise.
	# shellcheck disable=SC2086
	build clang slab slab_static $parts
	say "symbol rule"
	tools/lint/symbol-rule . build/clang || status=1
	say "clang-tidy, some twelve minutes on two CPUs"
	tools/lint/tidy build/clang || status=1
	[ $status = 0 ] || die "lint found something"
	say "nothing found"
}

cmd_package()
{
	case $* in
	'' | --source | --check | '--check '[!-]*) ;;
	*) die "package takes --source, --check, --check SUITE [ARCH], or no argument, not '$*'" ;;
	esac
	need "the source release" git
	say "the source release of $(git log -1 --format='%h, %s' 2>/dev/null)"
	archive=$(tools/package/source build/packages)
	say "$archive"
	[ "$*" != --source ] || return 0
	if [ $# -gt 1 ]; then
		shift
		need "the check" debootstrap
		say "packages for $*: building and checking them"
		tools/package/check "$archive" "$@"
		return
	fi
	# shellcheck disable=SC2086
	need "the packages" $package_packages
	say "building the packages; the log is build/packages/build.log"
	tools/package/build "$archive"
	if [ "$*" = --check ]; then
		need "the check" lintian debootstrap rpm rpmlint
		say "checking the packages"
		tools/package/check "$archive"
	fi
	say "packages:"
	ls build/packages/*.deb
}
