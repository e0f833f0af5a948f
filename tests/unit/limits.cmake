# SPDX-License-Identifier: MIT
#
# What happens when there is no memory: limits, reserves, and asking for some back.
slab_add_test(limit_test SOURCES unit/limit_test.cc LABELS unit ENGINES)
slab_add_test(reserve_test SOURCES unit/reserve_test.cc LABELS unit ENGINES)
slab_add_test(reclaim_test SOURCES unit/reclaim_test.cc LABELS unit ENGINES)
slab_add_test(pressure_test SOURCES unit/pressure_test.cc LABELS unit)
