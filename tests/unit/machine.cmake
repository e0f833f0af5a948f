# SPDX-License-Identifier: MIT
slab_add_test(machine_test SOURCES unit/machine_test.cc LABELS unit ENGINES)
target_link_libraries(machine_test PRIVATE PkgConfig::URCU_FLAVOURS)
slab_add_test(cpu_ids_test SOURCES unit/cpu_ids_test.cc LABELS unit ENGINES)
slab_add_test(vfork_test SOURCES unit/vfork_test.cc LABELS unit fork ENGINES)
