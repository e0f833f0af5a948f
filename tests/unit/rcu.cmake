# SPDX-License-Identifier: MIT
#
# Grace periods: all of liburcu's flavours in one program.
pkg_check_modules(URCU_FLAVOURS REQUIRED IMPORTED_TARGET
	liburcu liburcu-mb liburcu-qsbr liburcu-bp)

slab_add_test(rcu_test
	SOURCES unit/rcu_test.cc unit/rcu_typesafe_test.cc unit/rcu_thread_test.cc
		unit/rcu_debug_test.cc unit/rcu_wrong_test.cc
	LABELS unit OPTIONS -g ENGINES)
target_link_libraries(rcu_test PRIVATE PkgConfig::URCU_FLAVOURS)
slab_add_test(rcu_fork_test SOURCES unit/rcu_fork_test.cc LABELS unit fork ENGINES)
target_link_libraries(rcu_fork_test PRIVATE PkgConfig::URCU_FLAVOURS)
slab_add_test(rcu_stress_test SOURCES unit/rcu_stress_test.cc LABELS stress ENGINES)
target_link_libraries(rcu_stress_test PRIVATE PkgConfig::URCU_FLAVOURS)
# Destructors, and what a flavour has to do with them.
slab_add_test(release_test SOURCES unit/release_test.cc LABELS unit fork ENGINES)
target_link_libraries(release_test PRIVATE PkgConfig::URCU_FLAVOURS)
target_link_libraries(kunit_test PRIVATE PkgConfig::URCU_FLAVOURS)
slab_add_test(cancel_test SOURCES unit/cancel_test.cc LABELS unit fork ENGINES)
target_link_libraries(cancel_test PRIVATE PkgConfig::URCU_FLAVOURS)
