# SPDX-License-Identifier: MIT
slab_add_dirsrv_test(entry_cache_test
	SOURCES dirsrv/entry_cache_test.cc dirsrv/entry_cache_limit_test.cc
		dirsrv/entry_cache_memory_test.cc
	LABELS unit ENGINES)
slab_add_dirsrv_test(entry_cache_stress_test
	SOURCES dirsrv/entry_cache_stress_test.cc LABELS stress ENGINES)
slab_add_dirsrv_test(entry_cache_shown_test
	SOURCES dirsrv/entry_cache_shown_test.cc LABELS unit)
if(TARGET entry_cache_shown_test)
	target_link_libraries(entry_cache_shown_test PRIVATE PkgConfig::JSONC)
	target_compile_definitions(entry_cache_shown_test PRIVATE SLABINFO="$<TARGET_FILE:slabinfo>")
	add_dependencies(entry_cache_shown_test slabinfo)
endif()
