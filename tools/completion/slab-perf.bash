# SPDX-License-Identifier: MIT
#
# Completion of slab-perf(1) in bash: commands, their options, processes by number, files, and
# behind -- a command. Nothing that is offered comes from other processes but numbers.

# The options of the command $1.
_slab_perf_options()
{
	case $1 in
	stat) echo '-p --pid -t --seconds -h --help --' ;;
	record) echo '-p --pid -t --seconds -o --output -h --help --' ;;
	report) echo '-i --input --sort -h --help' ;;
	flame) echo '-p --pid -t --seconds -o --output -i --input -h --help --' ;;
	count) echo '-h --help --' ;;
	*) echo '-h --help' ;;
	esac
}

# Offer of the words in $2 those that begin with $1.
_slab_perf_words()
{
	mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1")
}

_slab_perf()
{
	local cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} i

	COMPREPLY=()
	if [[ $COMP_CWORD -gt 1 && $cur == = ]]; then # --option=value comes in three words
		cur=
	elif [[ $option == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == -- ]]; then
			if ((i + 1 == COMP_CWORD)); then
				mapfile -t COMPREPLY < <(compgen -c -f -- "$cur")
			else
				mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			fi
			compopt -o filenames 2>/dev/null
			return
		fi
	done
	case $option in
	-p | --pid)
		_slab_perf_words "$cur" "$(cd /proc && echo [0-9]*)"
		return
		;;
	-i | --input | -o | --output)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		compopt -o filenames 2>/dev/null
		return
		;;
	--sort)
		_slab_perf_words "$cur" 'cache caller cpu'
		return
		;;
	-t | --seconds) # a number
		return
		;;
	esac
	if ((COMP_CWORD == 1)) && [[ $cur != -* ]]; then
		_slab_perf_words "$cur" 'stat record report flame count'
	else
		_slab_perf_words "$cur" "$(_slab_perf_options "${COMP_WORDS[1]}")"
	fi
}

complete -F _slab_perf slab-perf
