# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # the lists of packages.sh
#
# Hours of tests.

# beside_load COMMAND...: while as many threads as there are CPUs do nothing but spin.
beside_load()
{
	load=
	for _ in $(seq "$(nproc)"); do
		sh -c 'while :; do :; done' &
		load="$load $!"
	done
	# shellcheck disable=SC2086
	trap 'kill $load 2>/dev/null' EXIT
	trap 'exit 130' HUP INT TERM
	status=0
	"$@" || status=$?
	# shellcheck disable=SC2086
	kill $load
	trap - EXIT HUP INT TERM
	return $status
}

# Twice in one process, for what a test leaves behind; ten processes, each within
# the time that one test has.
repeated()
{
	build asan
	say "testing: asan, the code of the tests instrumented as well"
	tests asan -L 'unit|stress'
	build tsan
	say "testing: tsan, each unit and stress test 20 times beside a load"
	export SLAB_STRESS_SECONDS=0.3 GTEST_REPEAT=2
	beside_load ctest --preset tsan -j "$(nproc)" -L 'unit|stress' --repeat until-fail:10
	unset SLAB_STRESS_SECONDS GTEST_REPEAT
}

# All of ldapd's tests under sanitizers and debug flags; then its fuzzers, 20 minutes in all.
ldapd_checked()
{
	for preset in asan tsan; do
		build "$preset" ldapd_tests
		say "testing: $preset, ldapd"
		tests "$preset" -R ldapd
	done
	build release tested
	say "testing: release with SLAB_DEBUG=FZPU, ldapd"
	SLAB_DEBUG=FZPU tests release -R ldapd
	seed=$(date +%s)
	say "fuzzing: ldapd with AddressSanitizer, 10 minutes, seed $seed"
	/usr/bin/python3 dirsrv/tests/ldapd/fuzz_test.py build/asan/bin/ldapd \
		build/asan/fuzz-corpus/ber 600 "$seed"
	say "fuzzing: its decoder alone, 10 minutes, seed $seed"
	build asan fuzz_ber
	build/asan/bin/fuzz_ber --random 600 "$seed" build/asan/fuzz-corpus/ber
}

# ownership LIMIT...: the soak of tests/soak on each engine, all with the same seed.
ownership()
{
	build release slab-soak
	seed=$(date +%s)
	for engine in rseq cmpxchg16b mutex; do
		say "soak: slab-soak --engine $engine --seed $seed $*"
		build/bin/slab-soak --engine "$engine" --seed "$seed" "$@"
	done
}

# looks N: N looks of each kind at a process that does everything meanwhile.
looks()
{
	case ${1-} in
	'' | 0* | *[!0-9]*) die "soak --looks takes a number of looks, such as 10000, not '${1-}'" ;;
	esac
	[ $# -eq 1 ] || die "soak --looks takes one number, not '$*'"
	# shellcheck disable=SC2086
	need "the soak" $compile_packages
	build release looked_at slabinfo
	/usr/bin/python3 tests/soak/looks.py build "$1"
}

everything()
{
	minutes=${1:-60}
	case $minutes in
	'' | *[!0-9]*) die "soak takes a number of minutes, --operations or --minutes, not '$minutes'" ;;
	esac
	# shellcheck disable=SC2086
	need "the tests" $all_test_packages
	repeated
	ldapd_checked
	ownership --seconds 600
	build release
	end=$(($(date +%s) + minutes * 60))
	round=0
	while [ "$(date +%s)" -lt "$end" ]; do
		round=$((round + 1))
		say "round $round, $(((end - $(date +%s)) / 60)) minutes left"
		SLAB_STRESS_SECONDS=10 GTEST_SHUFFLE=1 ctest --preset release -L 'stress|fork'
	done
	say "$round rounds, no failure"
}

cmd_soak()
{
	case ${1-} in
	--operations | --minutes)
		limit=${2-}
		case $limit in
		'' | 0* | *[!0-9e]* | e* | *e | *e*e*) die "soak $1 takes a number, such as 1e10, not '$limit'" ;;
		esac
		[ $# -eq 2 ] || die "soak $1 takes one number, not '$*'"
		# shellcheck disable=SC2086
		need "the soak" $compile_packages
		if [ "$1" = --minutes ]; then
			ownership --seconds "$(awk "BEGIN { print $limit * 60 }")"
		else
			ownership --operations "$limit"
		fi
		;;
	--looks)
		shift
		looks "$@"
		;;
	*)
		everything "$@"
		;;
	esac
}
