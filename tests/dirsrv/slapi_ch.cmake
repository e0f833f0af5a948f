# SPDX-License-Identifier: MIT
slab_add_dirsrv_test(slapi_ch_test SOURCES dirsrv/slapi_ch_test.cc LABELS unit)
