# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # the lists of packages.sh
#
# Tests, and which lines they execute.

# tests PRESET OPTION...: those that wait longest start first, and each takes as many of the
# places as its PROCESSORS say (cmake/SlabTests.cmake). What failed is shown at the end. A few tests that
# failed are run once more, one at a time; $unsteady names those that pass then.
tests()
{
	try_tests "$(($(nproc) * 3))" "$@" && return
	failed=$(failed_tests)
	[ "$(echo "$failed" | wc -w)" -le 5 ] || return 8
	say "once more, one at a time: $failed"
	try_tests 1 "$@" --rerun-failed || return 8
	unsteady="${unsteady:-} $failed"
}

# try_tests PLACES PRESET OPTION...
try_tests()
{
	places=$1
	shift
	junit=$PWD/build/$1.xml
	rm -f "$junit"
	SLAB_STRESS_SECONDS=0.3 ctest -j "$places" --output-junit "$junit" --preset "$@" || {
		[ ! -f "$junit" ] || python3 tests/failures.py "$junit" || :
		return 8
	}
}

# failed_tests: the names, in one line.
failed_tests()
{
	python3 tests/failures.py --names "$junit" | tr '\n' ' '
}

# Folders of the objects that count.
counted="build/CMakeFiles/slab_testing_coverage.dir build/cpu_cache build/slab"

# forget_counts: those of tests that ran before.
forget_counts()
{
	# shellcheck disable=SC2086
	find $counted -name '*.gcda' -delete
}

# coverage_report: what the tests NAME.coverage have counted.
coverage_report()
{
	lcov --quiet --rc lcov_branch_coverage=1 --capture --no-external --base-directory . \
		--directory build/CMakeFiles/slab_testing_coverage.dir --directory build/cpu_cache \
		--directory build/slab --output-file build/coverage.info 2>build/coverage.log ||
		{ cat build/coverage.log >&2; exit 1; }
	python3 tests/coverage/report.py build/coverage.info
}

cmd_coverage()
{
	# shellcheck disable=SC2086
	need "the tests" $all_test_packages
	build release coverage_programs
	forget_counts
	say "testing: release, unit tests that count what they execute"
	tests release -C variants -L '^coverage$'
	coverage_report || status=$?
	genhtml --quiet --branch-coverage --output-directory build/coverage build/coverage.info
	say "build/coverage/index.html"
	return "${status:-0}"
}

# test_by_name NAME...: a test whose program is missing skips and says so.
test_by_name()
{
	for name in "$@"; do
		case $name in
		-*) die "test takes names of tests, not '$name'" ;;
		*[[:alnum:]]*) ;;
		*) die "test takes names of tests, not '$name'" ;;
		esac
	done
	# shellcheck disable=SC2086
	need "these tests" $compile_packages python3
	configure release
	python3 tests/by_name.py "$@"
}

# What ./run test leaves to ./run test --all: other compilers, C libraries and page sizes, other programs
# under libslab_malloc, installed trees, benchmarks, and the few tests that take longest.
rest_labels='^(abi|headers|install|lint|models)$'
rest_names='^(annotate|bench|call_sites|perf|platform|security)\.|^malloc\.(limits|smoke)|^ldapd\.(debug|limits)
|^(asan\.corruption_test|asan\.ldapd|corruption\.hunts\.clang|malloc_race|json_schema_test)|^exporter_test\.Prometheus|\.page[0-9]+$'

cmd_test()
{
	case ${1:-} in
	'') test_most ;;
	--all)
		[ $# -eq 1 ] || die "test --all takes no argument, not '$2'"
		test_all
		;;
	*) test_by_name "$@" ;;
	esac
}

test_most()
{
	# shellcheck disable=SC2086
	need "the tests" $test_packages
	build release tested asan_programs
	say "testing: release; unit and stress tests also with AddressSanitizer"
	tests release -C asan -LE "$rest_labels" -E "$(echo "$rest_names" | tr -d '\n')"
	say_unsteady
}

test_all()
{
	# shellcheck disable=SC2086
	need "the tests" $all_test_packages
	wish "the tests of types" clang-22
	build release tested asan_programs coverage_programs
	configure tsan
	build_beside build/tsan unit_and_stress
	forget_counts
	say "testing: release, all tests; unit and stress tests also with AddressSanitizer,"
	say "         and once more with counts of what they execute"
	tests release -C variants
	coverage_report
	build_finish tsan unit_and_stress
	build_beside build all
	say "testing: tsan, unit and stress tests that start threads"
	tests tsan -L 'unit|stress'
	build_finish release all
	say_unsteady
}

say_unsteady()
{
	[ -z "${unsteady:-}" ] || say "failed at first, passed by themselves (each is a defect):$unsteady"
}

cmd_machines()
{
	# shellcheck disable=SC2086
	need "the machines" $machines_packages
	build release machines
	python3 tests/machines/machines.py "$@"
}

cmd_aarch64()
{
	case " $* " in
	*' --help '* | *' -h '*) ;;
	*)
		# shellcheck disable=SC2086
		need "aarch64" $aarch64_packages
		;;
	esac
	python3 tests/aarch64/suite.py "$@"
}
