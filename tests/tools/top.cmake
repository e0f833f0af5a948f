# SPDX-License-Identifier: MIT
#
# slabinfo --top in a terminal, which is tmux.

find_program(TMUX tmux)
if(TMUX)
	slab_add_test(top_test SOURCES top_test.cc LABELS tools SHARDS 2)
	target_link_libraries(top_test PRIVATE PkgConfig::JSONC)
	target_compile_definitions(top_test PRIVATE
		TMUX="${TMUX}"
		SLABINFO="$<TARGET_FILE:slabinfo>"
		CONTROL_SERVER="$<TARGET_FILE:control_server>")
	add_dependencies(top_test slabinfo control_server)
else()
	message(STATUS "tmux is missing: slabinfo --top is not tested")
endif()
