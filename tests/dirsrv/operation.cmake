# SPDX-License-Identifier: MIT
slab_add_dirsrv_test(operation_test SOURCES dirsrv/operation_test.cc LABELS unit ENGINES)
