/* SPDX-License-Identifier: MIT */
/* Objects that several threads reach: movable ones, reclaimable ones, and those of readers under
 * RCU. Each call does one operation at random and returns the number of checked operations. */
#pragma once

#include "oracle.h"

struct slab_cache;

namespace soak
{

void create_shared();
void destroy_shared(); /* frees what is left; then as destroy_kinds() */

unsigned use_movable(chance &random, std::uint64_t *stamps);
unsigned use_reclaimable(chance &random);
unsigned use_published(chance &random, std::uint64_t *stamps);

struct slab_cache *movable_cache();

} /* namespace soak */
