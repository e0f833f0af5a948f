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
	# shellcheck disable=SC2086
	wish "the comparison" $allocator_packages
	build release ldapd ldapd-malloc ldapload slabinfo slab-symbolize corruption
	say "dirsrv/demo/demo.py${*:+ $*}"
	python3 dirsrv/demo/demo.py "$@"
}

bench_names()
{
	for script in benchmarks/*/run.sh dirsrv/benchmarks/*/run.sh; do
		[ -e "$script" ] || continue
		basename "$(dirname "$script")"
	done | sort | tr '\n' ' ' | sed 's/ $//'
}

# bench_needs: what the benchmarks run, and nothing of the tests.
bench_needs()
{
	# shellcheck disable=SC2086
	need "the benchmark" $compile_packages $bench_packages
	wish "the allocators' share of CPU time" linux-perf
	build release benchmarks/all examples/all tools/all malloc/all dirsrv/all dirsrv/servers/all
}

cmd_bench()
{
	case $* in
	'' | --quick)
		bench_needs
		python3 benchmarks/suite/main.py "$@"
		return
		;;
	--compare*)
		need "the comparison" python3 python3-scipy
		# Another python of the user's does not see Debian's packages.
		PATH=/usr/bin:$PATH python3 benchmarks/suite/main.py "$@"
		return
		;;
	-*)
		python3 benchmarks/suite/main.py "$@"
		return
		;;
	esac
	name=$1
	script=benchmarks/$name/run.sh
	[ -e "$script" ] || script=dirsrv/$script
	[ -e "$script" ] || die "no benchmark '$name'; there are: $(bench_names)"
	shift
	case " $* " in
	*' --help '* | *' -h '*) ;;
	*) bench_needs ;;
	esac
	say "$script $*"
	sh "$script" "$@"
}

cmd_server()
{
	case " $* " in
	*' --help '* | *' -h '*) ;;
	*)
		case ${1-} in
		389) more=$server_389_packages ;;
		*) more=$server_openldap_packages ;;
		esac
		# shellcheck disable=SC2086
		need "the server" $compile_packages $server_packages $more
		build release slab slab_malloc slab_389ds ldapload slabinfo
		;;
	esac
	python3 dirsrv/servers/build/server.py "$@"
}
