# SPDX-License-Identifier: MIT
slab_add_test(machine_test SOURCES unit/machine_test.cc LABELS unit ENGINES)
target_link_libraries(machine_test PRIVATE PkgConfig::URCU_FLAVOURS)
