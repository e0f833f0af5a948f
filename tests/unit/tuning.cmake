# SPDX-License-Identifier: MIT
#
# Attributes, limits, windows of counting.

slab_add_test(attributes_test SOURCES unit/attributes_test.cc LABELS unit ENGINES)
slab_add_test(count_test SOURCES unit/count_test.cc LABELS unit ENGINES)
slab_add_test(count_rate_test SOURCES unit/count_rate_test.cc LABELS unit ENGINES)
slab_add_test(counters_test
	SOURCES unit/counters_test.cc unit/counters_outside_test.cc LABELS unit ENGINES)
