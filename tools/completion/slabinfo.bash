# SPDX-License-Identifier: MIT
#
# Completion of slabinfo(1) in bash: options, files, and what the processes of the
# machine have: their numbers, their names, the names of their caches. These come from
# others and may hold anything: they are read line by line, never expanded (as compgen -W
# would do), and quoted when they are offered.

_slabinfo_options='-l --slabs -r --report -T --totals -X --xtotals -n --numa
	-t --tracking --json --openmetrics --top --map --pprof --flame --list
	-A --activity -L --loss -P --partial -S --size -i --inverted
	-N --lines -z --zero -e --empty -U --unreclaim -B --bytes
	-D --display-activity
	-s --shrink -v --validate -d --debug --set --reset --trim --sample --profile --fail
	--mark --since-mark --find-leaks --stop-limit --record --interval --plot --diff
	-p --pid --process --memory --core --exe --types --copy -h --help --version'

# The numbers of the processes that can be looked at, a line for each, and their names,
# which may have blanks in them.
_slabinfo_pids()
{
	"$1" --list 2>/dev/null | awk 'NR > 1 { print $1 }'
}

_slabinfo_names()
{
	"$1" --list 2>/dev/null | sed '1d; s/^ *[0-9]*  *//; s/  *\(socket\|memory\)\( .*\|\)$//'
}

# The names of the caches of the process that the words so far choose. The expression
# leaves the footer out.
_slabinfo_caches()
{
	local choice=() i value

	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-p | --pid | --process | --core | --exe | --copy)
			value=$((i + 1))
			[[ ${COMP_WORDS[value]} != = ]] || ((value++))
			((value >= COMP_CWORD)) || choice+=("${COMP_WORDS[i]}" "${COMP_WORDS[value]}")
			;;
		--memory)
			choice+=(--memory)
			;;
		esac
	done
	"$1" "${choice[@]}" --slabs --zero . 2>/dev/null | awk 'NR > 1 { print $1 }'
}

_slabinfo_files()
{
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

# Offer the lines of standard input that begin with $1. What is being typed may be quoted
# itself: with backslashes it looks as what is offered; behind a quotation mark nothing can
# be offered that needs more quoting.
_slabinfo_lines()
{
	local begun=$1 plain=false line quoted

	if [[ $begun == [\"\']* ]]; then
		begun=${begun:1}
		plain=true
	fi
	while IFS= read -r line; do
		printf -v quoted %q "$line"
		if [[ $line == "$begun"* || $quoted == "$begun"* ]] &&
			[[ $plain == false || $quoted == "$line" ]]; then
			COMPREPLY+=("$quoted")
		fi
	done
}

# Offer of our own words in $2 those that begin with $1.
_slabinfo_words()
{
	_slabinfo_lines "$1" < <(printf '%s\n' $2)
}

# CACHE.ATTRIBUTE= of --set
_slabinfo_attribute()
{
	compopt -o nospace 2>/dev/null
	_slabinfo_lines "$1" < <(_slabinfo_caches "$2" |
		sed 'h; s/$/.min_partial=/p; g; s/$/.limit=/p; g
			s/$/.sample=/p; g; s/$/.remote_node_defrag_ratio=/')
}

# The value $2 of option $1.
_slabinfo_value()
{
	case $1 in
	-p | --pid)
		_slabinfo_lines "$2" < <(_slabinfo_pids "$3")
		;;
	--process)
		_slabinfo_lines "$2" < <(_slabinfo_names "$3" | sort -u)
		;;
	--core | --exe | --types | --map | --pprof | --flame | --record | --plot)
		_slabinfo_files "$2"
		;;
	--set)
		_slabinfo_attribute "$2" "$3"
		;;
	--fail)
		_slabinfo_words "$2" "- interval= probability= times= cache="
		;;
	-N | --lines | --sample | --interval | --stop-limit) # a number
		;;
	*)
		return 1
		;;
	esac
}

# The operand of --find-leaks: a process, a core file, or caches.
_slabinfo_targets()
{
	if [[ $1 == */* || -e $1 ]]; then
		_slabinfo_files "$1"
	else
		_slabinfo_lines "$1" < <(_slabinfo_pids "$2"; _slabinfo_caches "$2")
	fi
}

_slabinfo()
{
	local cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} word

	COMPREPLY=()
	# --option=value comes in three words
	if [[ $cur == = ]]; then
		cur=
	elif [[ $option == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	_slabinfo_value "$option" "$cur" "$1" && return
	if [[ $cur == -* ]]; then
		_slabinfo_words "$cur" "$_slabinfo_options"
		return
	fi
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		if [[ $word == --diff || $word == --plot ]]; then
			_slabinfo_files "$cur"
			return
		elif [[ $word == --find-leaks ]]; then
			_slabinfo_targets "$cur" "$1"
			return
		fi
	done
	_slabinfo_lines "$cur" < <(_slabinfo_caches "$1")
}

complete -F _slabinfo slabinfo
