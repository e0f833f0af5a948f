/* SPDX-License-Identifier: MIT */
/* The start of libslab, while the C library allocates. */
#include "../support/process.h"
#include "../support/rooms.h"

namespace
{

std::function<void()> on_getenv;

} /* namespace */

/* libslab's call of secure_getenv() leads here. */
extern "C" char *secure_getenv(const char *name) noexcept
{
	if (on_getenv)
		on_getenv();
	return std::getenv(name);
}

namespace
{

TEST(InitTest, AnAllocationMeanwhileFails)
{
	unsigned calls = 0;

	if (!in_environment({}))
		return;
	on_getenv = [&] {
		calls++;
		errno = 0;
		EXPECT_FALSE(slab_init());
		EXPECT_EQ(errno, ENOMEM);
		EXPECT_EQ(slab_malloc(16), nullptr);
	};
	errno = EDOM;
	EXPECT_TRUE(slab_init());
	EXPECT_EQ(errno, EDOM);
	on_getenv = nullptr;
	EXPECT_GT(calls, 0u);

	void *ptr = slab_malloc(16);

	EXPECT_NE(ptr, nullptr);
	slab_mfree(ptr);
}

} /* namespace */
