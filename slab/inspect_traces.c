/* SPDX-License-Identifier: MIT */
#include "slab_internal.h"
