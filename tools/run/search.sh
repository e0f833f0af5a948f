# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # the lists of packages.sh
#
# Searches for defects: fuzzing, models, guards.

fuzz_names()
{
	for archive in tests/fuzz/corpus/*.tar.xz; do
		basename "$archive" .tar.xz
	done | tr '\n' ' ' | sed 's/ $//'
}

# fuzz_options TARGET: of libFuzzer. Sequences of calls want long inputs soon.
fuzz_options()
{
	case $1 in
	api | malloc) echo -len_control=5 -max_len=1500 ;;
	core) echo -max_len=300 ;;
	*) echo -max_len=3000 ;;
	esac
}

cmd_fuzz()
{
	if [ $# -eq 0 ]; then
		echo "targets: $(fuzz_names)"
		echo "usage: ./run fuzz TARGET SECONDS; tests/fuzz/README.md says what each of them does"
		return
	fi
	target=$1
	seconds=${2-}
	case " $(fuzz_names) " in
	*" $target "*) ;;
	*) die "there is no target '$target'; there are: $(fuzz_names)" ;;
	esac
	case $seconds in
	'' | *[!0-9]* | ??????????*) die "fuzz $target takes a number of seconds, not '$seconds'" ;;
	esac
	[ "$seconds" -gt 0 ] || die "fuzz $target takes a number of seconds from 1 on, not '$seconds'"
	[ $# -eq 2 ] || die "fuzz takes a target and a number of seconds, nothing more"
	# shellcheck disable=SC2086
	need "fuzzing" $fuzz_packages
	[ "$target" != core ] || build release control_server
	build fuzz "fuzz_$target"
	fuzz_run
}

# fuzz_run: $target for $seconds. What libFuzzer says is in a log. Inputs that find something are
# kept, and so are those that reach new code.
fuzz_run()
{
	found=build/fuzz/findings/$target
	log=build/fuzz/$target.log
	corpus=build/fuzz/corpus/$target
	[ "$target" != core ] || export FUZZ_CORE="$PWD/build/fuzz/core"
	mkdir -p "$found" "$corpus"
	before=$(ls "$found")
	say "fuzzing: $target, $seconds seconds; the log is $log"
	status=0
	# shellcheck disable=SC2046
	"build/fuzz/bin/fuzz_$target" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=3000 \
		-print_final_stats=1 $(fuzz_options "$target") -artifact_prefix="$found/" \
		"$corpus" "build/fuzz/fuzz-corpus/$target" >"$log" 2>&1 || status=$?
	if [ $status = 0 ]; then
		say "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, nothing found"
		return
	fi
	tail -n 40 "$log" >&2
	[ "$(ls "$found")" != "$before" ] || die "fuzz_$target ended with status $status"
	# shellcheck disable=SC2012
	finding=$found/$(ls -t "$found" | head -n 1)
	printf 'run: fuzzing %s found something; once more: %sbuild/fuzz/bin/fuzz_%s %s\n' "$target" \
		"${FUZZ_CORE:+FUZZ_CORE=$FUZZ_CORE }" "$target" "$finding" >&2
	exit 1
}

cmd_models()
{
	[ $# -le 1 ] || die "models takes the name of one model, or no argument"
	[ $# -eq 0 ] || [ -e "tests/models/$1.pml" ] ||
		die "there is no model '$1'; there are: $(cd tests/models && echo *.pml | sed 's/\.pml//g')"
	need "the models" spin gcc
	tests/models/run --names
	tests/models/run --full "$@"
}

cmd_guards()
{
	need "the models" spin gcc
	build release schedule_test
	tests/schedule/guards build/bin/schedule_test "$@"
}
