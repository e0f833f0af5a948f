/* SPDX-License-Identifier: MIT */
/* Addresses that are not of libslab. */
#pragma once

#include "reports.h"

/* Not libslab's: nothing happens to it. */
inline void expect_foreign(const void *ptr)
{
	report_capture reports;

	EXPECT_FALSE(slab_owns(ptr)) << ptr;
	EXPECT_EQ(slab_cache_of(ptr), nullptr) << ptr;
	EXPECT_FALSE(slab_free_any(const_cast<void *>(ptr))) << ptr;
	EXPECT_EQ(reports.count(), 0u) << reports.text();
}
