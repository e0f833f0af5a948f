/* SPDX-License-Identifier: MIT */
/* Programs without the control thread: slow paths do what is due, in the threads of the tests. */
#pragma once

#include "test.h"

/* Before libslab reads its environment. */
inline const bool without_thread = setenv("SLAB_CONTROL", "off", 0) == 0;
