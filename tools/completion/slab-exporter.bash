# SPDX-License-Identifier: MIT
#
# Completion of slab-exporter(1) in bash. Names of processes come from others and may
# hold anything: they are never expanded, and quoted when they are offered.

# Offer the lines of standard input that begin with $1, which may have backslashes.
_slab_exporter_lines()
{
	local line quoted

	while IFS= read -r line; do
		printf -v quoted %q "$line"
		if [[ $line == "$1"* || $quoted == "$1"* ]]; then
			COMPREPLY+=("$quoted")
		fi
	done
}

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
		_slab_exporter_lines "$cur" < <(slabinfo --list 2>/dev/null |
			sed '1d; s/^ *[0-9]*  *//; s/ *[^ ]*$//' | sort -u)
		return
		;;
	--listen | --max-processes | --max-caches | --timeout)
		return
		;;
	esac
	_slab_exporter_lines "$cur" < <(printf '%s\n' $words)
}

complete -F _slab_exporter slab-exporter
