# SPDX-License-Identifier: MIT
#
# Movable objects; readers of liburcu's memb flavour look at them.
slab_add_test(defrag_test SOURCES unit/defrag_test.cc LABELS unit ENGINES)
slab_add_test(defrag_stress_test SOURCES unit/defrag_stress_test.cc LABELS stress ENGINES)
target_link_libraries(defrag_stress_test PRIVATE PkgConfig::URCU_FLAVOURS)
