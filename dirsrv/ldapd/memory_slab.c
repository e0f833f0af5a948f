/* SPDX-License-Identifier: MIT */
/* ldapd: memory from libslab. */
#include "memory.h"

const char memory_name[] = "libslab";
