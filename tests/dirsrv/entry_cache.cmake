# SPDX-License-Identifier: MIT
slab_add_dirsrv_test(entry_cache_test
	SOURCES dirsrv/entry_cache_test.cc dirsrv/entry_cache_limit_test.cc
		dirsrv/entry_cache_memory_test.cc
	LABELS unit ENGINES)
slab_add_dirsrv_test(entry_cache_stress_test
	SOURCES dirsrv/entry_cache_stress_test.cc LABELS stress ENGINES)
