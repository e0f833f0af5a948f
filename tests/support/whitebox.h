/* SPDX-License-Identifier: MIT */
/*
 * The library's internal headers, for white-box tests.
 *
 * They are C11: what C++ spells otherwise, or has only as an extension, is
 * bridged here and nowhere else.
 */
#ifndef TESTS_SUPPORT_WHITEBOX_H
#define TESTS_SUPPORT_WHITEBOX_H

/* Before the block below: these must not get C linkage. */
#include <pthread.h>
#include <slab/slab.h>
#include <slab/stats.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* the nodes at the end of struct slab_cache */
#define _Static_assert static_assert
extern "C" {
#include "alloc/alloc.h"
#include "cache/create.h"
#include "cache/large.h"
#include "cas16.h"
#include "core/debug_record.h"
#include "core/node.h"
#include "core/refill.h"
#include "core/slab.h"
#include "cpu_cache.h"
#include "inject.h"
#include "memory/shrink.h"
#include "pages/account.h"
#include "pages/os.h"
#include "pages/topology.h"
#include "rcu/free_rcu.h"
#include "rcu/grace_period.h"
#include "registry/init.h"
#include "registry/registry.h"
#include "report/depot.h"
#include "report/track.h"
#include "rseq.h"
}
#undef _Static_assert
#pragma GCC diagnostic pop

#endif /* TESTS_SUPPORT_WHITEBOX_H */
