# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # the lists of packages.sh
#
# What shows and measures: the demo, the benchmarks, real servers.

cmd_demo()
{
	need "the demo's options" python3
	python3 dirsrv/demo/options.py "$@"
	for option in "$@"; do
		case $option in
		-h | --help) return ;;
		esac
	done
	# shellcheck disable=SC2086
	need "the demo" $demo_packages
	build release ldapd ldapload slab_malloc slabinfo slab-symbolize corruption
	say "dirsrv/demo/demo.py${*:+ $*}"
	python3 dirsrv/demo/demo.py "$@"
}

# bench_needs: what the benchmarks run, and nothing of the tests.
bench_needs()
{
	# shellcheck disable=SC2086
	need "the benchmark" $compile_packages $bench_packages
	wish "the allocators' share of CPU time" linux-perf
	# shellcheck disable=SC2086
	build release $parts
}

cmd_bench()
{
	case ${1-} in
	'' | -*) ;;
	*)
		[ -f "benchmarks/$1/description.py" ] || [ -f "dirsrv/benchmarks/$1/description.py" ] ||
			die "there is no benchmark '$1'; ./run bench --list shows them"
		;;
	esac
	case " $* " in
	*' --help '* | *' -h '* | *' --list '*) ;;
	*' --compare '*) need "the comparison" python3 python3-scipy ;;
	*) bench_needs ;;
	esac
	# Another python of the user's does not see Debian's packages.
	PATH=/usr/bin:$PATH python3 benchmarks/run.py "$@"
}

cmd_server()
{
	case " $* " in
	*' --help '* | *' -h '*) ;;
	*)
		case ${1-} in
		389) more=$server_389_packages ;;
		openldap) more=$server_openldap_packages ;;
		*) die "server takes 389 or openldap, not '${1-}'" ;;
		esac
		# shellcheck disable=SC2086
		need "the server" $compile_packages $server_packages $more
		build release slab slab_malloc slab_token ldapload slabinfo
		;;
	esac
	python3 dirsrv/servers/server.py "$@"
}
