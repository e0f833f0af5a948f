/* SPDX-License-Identifier: MIT */
/* The headers of slab/ about debugging, as C++ takes them. */
#ifndef TESTS_SUPPORT_DEBUG_INTERNALS_H
#define TESTS_SUPPORT_DEBUG_INTERNALS_H

#include "whitebox.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* the records at the end of struct slab_debug */
#define _Static_assert static_assert
extern "C" {
#include "debug/layout.h"
#include "config/debug_spec.h"
#include "debug/bug_info.h"
#include "report/symbol.h"
}
#undef _Static_assert
#pragma GCC diagnostic pop

#endif /* TESTS_SUPPORT_DEBUG_INTERNALS_H */
