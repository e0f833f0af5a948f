# SPDX-License-Identifier: MIT
#
# The warnings of every target, which are errors. With a compiler that has more
# warnings, use cmake --compile-no-warning-as-error. (-Wshadow of g++ would warn that
# struct slab_process_stats and its function share a name.)

function(slab_warnings target)
	set_target_properties(${target} PROPERTIES COMPILE_WARNING_AS_ERROR ON)
	target_compile_options(${target} PRIVATE
		-Wall -Wextra -Wpedantic
		$<$<COMPILE_LANGUAGE:C>:-Wshadow>
		$<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
		$<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>)
endfunction()
