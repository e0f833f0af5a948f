/* SPDX-License-Identifier: MIT */
/*
 * How much stack a call takes: it runs in a thread with a stack of its own, which is painted
 * before. What was overwritten below the caller's frame counts, with the frames of the C library in
 * it. The program is linked with -z now: the dynamic linker needs up to 3 KiB to bind a symbol
 * later.
 */
#pragma once

#include "test.h"

class painted_stack
{
public:
	/* The bytes that the call took, at its deepest. */
	static std::size_t depth(const std::function<void()> &call)
	{
		painted_stack stack(call);
		pthread_attr_t attributes;
		pthread_t thread;

		pthread_attr_init(&attributes);
		EXPECT_EQ(pthread_attr_setstack(&attributes, stack.start, bytes), 0);
		EXPECT_EQ(pthread_create(&thread, &attributes, run, &stack), 0);
		pthread_attr_destroy(&attributes);
		EXPECT_EQ(pthread_join(thread, nullptr), 0);
		return stack.used;
	}

	painted_stack(const painted_stack &) = delete;
	painted_stack &operator=(const painted_stack &) = delete;

private:
	static constexpr std::size_t bytes = std::size_t{256} << 10, guard = 65536;
	static constexpr std::uint64_t paint = UINT64_C(0x5aa5c33c96690ff0);

	explicit painted_stack(const std::function<void()> &of) : call(of)
	{
		char *room =
			static_cast<char *>(mmap(nullptr, guard + bytes, PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

		EXPECT_NE(room, MAP_FAILED);
		EXPECT_EQ(mprotect(room, guard, PROT_NONE), 0);
		start = room + guard;
	}
	~painted_stack() { munmap(start - guard, guard + bytes); }

	/* The frames of this class are above `top`, and those of the call below. */
	__attribute__((noinline)) void measure()
	{
		volatile auto *word = reinterpret_cast<volatile std::uint64_t *>(start);
		const char *top = static_cast<char *>(__builtin_frame_address(0)) - 512;

		for (; reinterpret_cast<const volatile char *>(word) < top; word++)
			*word = paint;
		call();
		word = reinterpret_cast<volatile std::uint64_t *>(start);
		while (reinterpret_cast<const volatile char *>(word) < top && *word == paint)
			word++;
		used = static_cast<std::size_t>(static_cast<char *>(__builtin_frame_address(0)) -
						reinterpret_cast<const volatile char *>(word));
	}

	static void *run(void *arg)
	{
		static_cast<painted_stack *>(arg)->measure();
		return nullptr;
	}

	const std::function<void()> &call;
	char *start = nullptr;
	std::size_t used = 0;
};
