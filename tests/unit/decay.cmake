# SPDX-License-Identifier: MIT
#
# Memory that goes back by time, or at once.
slab_add_test(decay_test SOURCES unit/decay_test.cc LABELS unit ENGINES)
target_link_libraries(decay_test PRIVATE PkgConfig::URCU_FLAVOURS)
slab_add_test(decay_time_test SOURCES unit/decay_time_test.cc LABELS unit ENGINES)
slab_add_test(decay_stress_test SOURCES unit/decay_stress_test.cc LABELS stress fork ENGINES)
