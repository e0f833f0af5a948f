/* SPDX-License-Identifier: MIT */
/* Latencies: what is said of many of them. */
#include <gtest/gtest.h>

#include <memory>

extern "C" {
#include "report.h"
}

namespace
{

class LdapLoadHistogram : public ::testing::Test
{
protected:
	uint64_t percentile(double percent) const
	{
		return histogram_percentile(histogram_.get(), percent);
	}

	std::unique_ptr<struct histogram> histogram_ = std::make_unique<struct histogram>();
};

TEST_F(LdapLoadHistogram, HasNoPercentileWithoutValues)
{
	EXPECT_EQ(percentile(50), 0u);
	EXPECT_EQ(percentile(100), 0u);
}

TEST_F(LdapLoadHistogram, IsExactForSmallValues)
{
	for (uint64_t ns = 1; ns <= 60; ns++)
		histogram_add(histogram_.get(), ns);
	EXPECT_EQ(percentile(50), 30u);
	EXPECT_EQ(percentile(100), 60u);
}

TEST_F(LdapLoadHistogram, PercentileIsAtMostASixtyFourthAboveTheValue)
{
	for (uint64_t ns = 1; ns < UINT64_C(1) << 40; ns = ns * 5 / 4 + 1) {
		*histogram_ = {};
		histogram_add(histogram_.get(), ns);
		histogram_add(histogram_.get(), UINT64_C(1) << 40);
		EXPECT_GE(percentile(50), ns);
		EXPECT_LE(percentile(50), ns + ns / 64);
	}
}

TEST_F(LdapLoadHistogram, CountsEveryShareOfTheValues)
{
	for (int i = 0; i < 999; i++)
		histogram_add(histogram_.get(), 1000);
	histogram_add(histogram_.get(), 1000000);
	EXPECT_NEAR((double)percentile(50), 1000, 16);
	EXPECT_NEAR((double)percentile(99.9), 1000, 16);
	EXPECT_EQ(percentile(99.95), 1000000u);
	EXPECT_EQ(percentile(100), 1000000u);
}

TEST_F(LdapLoadHistogram, KeepsTheMaximumOfValuesBeyondItsBuckets)
{
	histogram_add(histogram_.get(), UINT64_MAX);
	EXPECT_EQ(percentile(100), UINT64_MAX);
	EXPECT_EQ(percentile(50), UINT64_MAX);
}

TEST_F(LdapLoadHistogram, MergedHasTheValuesOfBoth)
{
	auto other = std::make_unique<struct histogram>();

	histogram_add(histogram_.get(), 10);
	histogram_add(other.get(), 20);
	histogram_add(other.get(), 30);
	histogram_merge(histogram_.get(), other.get());
	EXPECT_EQ(histogram_->total, 3u);
	EXPECT_EQ(percentile(50), 20u);
	EXPECT_EQ(percentile(100), 30u);
}

} // namespace
