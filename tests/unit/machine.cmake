# SPDX-License-Identifier: MIT
slab_add_test(machine_test SOURCES unit/machine_test.cc LABELS unit ENGINES)
