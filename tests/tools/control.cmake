# SPDX-License-Identifier: MIT
#
# The control socket: tuning, clients that mean no good, descriptors that are lost, a fuzzer.

foreach(test tune hardening)
	slab_add_test(control_${test}_test SOURCES control_${test}_test.cc LABELS tools)
	target_link_libraries(control_${test}_test PRIVATE PkgConfig::JSONC)
	target_compile_definitions(control_${test}_test PRIVATE
		SLABINFO="$<TARGET_FILE:slabinfo>"
		CONTROL_SERVER="$<TARGET_FILE:control_server>")
	add_dependencies(control_${test}_test slabinfo control_server)
endforeach()

slab_add_test(descriptors_test SOURCES descriptors_test.cc LABELS tools)
target_link_libraries(descriptors_test PRIVATE PkgConfig::JSONC)
target_compile_definitions(descriptors_test PRIVATE
	SLABINFO="$<TARGET_FILE:slabinfo>"
	CONTROL_SERVER="$<TARGET_FILE:control_server>")

# Who listens where slabinfo looks, and means no good.
slab_add_test(slabinfo_peer_test SOURCES peer_test.cc LABELS tools SHARDS 2)
target_link_libraries(slabinfo_peer_test PRIVATE inspect PkgConfig::JSONC)
target_compile_definitions(slabinfo_peer_test PRIVATE
	SLABINFO="$<TARGET_FILE:slabinfo>"
	CONTROL_SERVER="$<TARGET_FILE:control_server>")
add_dependencies(slabinfo_peer_test slabinfo control_server)

slab_add_test(control_fuzz SOURCES control_fuzz.cc LABELS tools)
target_link_libraries(control_fuzz PRIVATE PkgConfig::JSONC)
target_compile_definitions(control_fuzz PRIVATE
	SLABINFO="$<TARGET_FILE:slabinfo>"
	CONTROL_SERVER="$<TARGET_FILE:control_server>")
add_dependencies(control_fuzz control_server)
