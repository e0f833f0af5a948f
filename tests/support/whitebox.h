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
#include "rcu/free_rcu.h"
#include "cas16.h"
#include "cpu_cache.h"
#include "inject.h"
#include "rcu/grace_period.h"
#include "rseq.h"
#include "report/depot.h"
#include "cache/large.h"
#include "core/slab_internal.h"
#include "report/track.h"
}
#undef _Static_assert
#pragma GCC diagnostic pop

#endif /* TESTS_SUPPORT_WHITEBOX_H */
