/* SPDX-License-Identifier: MIT */
/* Descriptors that stay open, one by one. Those of a running process:
 * tests/control/descriptors_test.cc. */
#include "../support/process.h"
#include "../support/rooms.h"

namespace
{

TEST(DescriptorStreamTest, ATextIsSent)
{
	struct descriptor stream = DESCRIPTOR_NONE;
	const std::string text = "two\nlines\n";
	char received[100] = "";
	int reader = -1;

	ASSERT_EQ(descriptor_stream(&stream, &reader, 3), 0);
	ASSERT_TRUE(descriptor_send(&stream, text.c_str(), text.size()));
	EXPECT_EQ(read(reader, received, sizeof(received)), static_cast<ssize_t>(text.size()));
	EXPECT_EQ(received, text);
	close(reader);
	descriptor_close(&stream);
}

TEST(DescriptorStreamTest, WithoutAReaderNothingIsSent)
{
	struct descriptor stream = DESCRIPTOR_NONE;
	int reader = -1;

	ASSERT_EQ(descriptor_stream(&stream, &reader, 3), 0);
	close(reader);
	EXPECT_FALSE(descriptor_send(&stream, "a", 1));
	descriptor_close(&stream);
	EXPECT_FALSE(descriptor_send(&stream, "a", 1));
}

/* The socket holds less than this, and nothing takes it out. */
TEST(DescriptorStreamTest, AReaderThatDoesNotReadIsNotWaitedForLong)
{
	EXPECT_IN_CHILD([] {
		struct descriptor stream = DESCRIPTOR_NONE;
		const std::string text(std::size_t{64} << 20, 'x');
		int reader = -1;

		if (descriptor_stream(&stream, &reader, 3) != 0)
			return 1;
		return descriptor_send(&stream, text.c_str(), text.size()) ? 2 : 0;
	});
}

/* The epoll of this watch has no entry for the descriptor, as if the application had taken it
 * out. */
TEST(WatchTest, AFurtherDescriptorEndsTheWait)
{
	EXPECT_IN_CHILD([] {
		struct watch watch = WATCH_NONE;
		struct descriptor ready = DESCRIPTOR_NONE;
		const struct descriptor *const more[] = {&ready, nullptr};

		if (watch_open(&watch, 3) != 0 ||
		    descriptor_take(&ready, eventfd(1, EFD_CLOEXEC), 3) != 0)
			return 1;
		if (!watch_is_whole(&watch))
			return 2;
		watch_wait(&watch, more); /* or the alarm of the child ends it */
		return 0;
	});
}

} /* namespace */
