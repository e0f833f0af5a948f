/* SPDX-License-Identifier: MIT */
/* Addresses that are not of libslab. */
#ifndef TESTS_SUPPORT_FOREIGN_H
#define TESTS_SUPPORT_FOREIGN_H

#include <gtest/gtest.h>
#include <slab/pointer.h>

#include "reports.h"

namespace slab_test
{

/* Not libslab's: nothing happens to it. */
inline void expect_foreign(const void *ptr)
{
	report_capture reports;

	EXPECT_FALSE(slab_owns(ptr)) << ptr;
	EXPECT_EQ(slab_cache_of(ptr), nullptr) << ptr;
	EXPECT_FALSE(slab_free_any(const_cast<void *>(ptr))) << ptr;
	EXPECT_EQ(reports.count(), 0u) << reports.text();
}

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_FOREIGN_H */
