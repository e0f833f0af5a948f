# SPDX-License-Identifier: MIT
#
# What happens when there is no memory: limits, reserves, and asking for some back.
slab_add_test(limit_test
	SOURCES unit/limit_test.cc unit/limit_handler_test.cc LABELS unit ENGINES)
slab_add_test(reserve_test SOURCES unit/reserve_test.cc LABELS unit ENGINES)
slab_add_test(reclaim_test SOURCES unit/reclaim_test.cc LABELS unit ENGINES)
slab_add_test(pressure_test SOURCES unit/pressure_test.cc LABELS unit)
# Nobody else is in the way of who allocates at a limit, nor of who forks.
slab_add_test(hand_test SOURCES unit/hand_test.cc LABELS stress fork ENGINES)
# … and of slabs that are taken from CPUs none is missing meanwhile.
slab_add_test(taking_test SOURCES unit/taking_test.cc LABELS unit fork ENGINES)
