# SPDX-License-Identifier: MIT
#
# Completion of slab-exporter(1) in bash.

_slab_exporter()
{
	local cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} words

	words='--listen --process --max-processes --max-caches --memory --timeout -h --help
		--version'
	COMPREPLY=()
	# --option=value comes in three words
	if [[ $cur == = ]]; then
		cur=
	elif [[ $option == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	case $option in
	--process)
		words=$(slabinfo --list 2>/dev/null | awk 'NR > 1 { print $2 }')
		;;
	--listen | --max-processes | --max-caches | --timeout)
		return
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _slab_exporter slab-exporter
