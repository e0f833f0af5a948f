/* SPDX-License-Identifier: MIT */
/* Calls of libslab that signal handlers know of. */
#pragma once

#include "kinds.h"

namespace soak
{

/* While it lives, the thread is in a call of libslab. */
class inside_mark
{
public:
	inside_mark() : before_(is_inside)
	{
		is_inside = true;
		std::atomic_signal_fence(std::memory_order_seq_cst);
	}

	~inside_mark()
	{
		std::atomic_signal_fence(std::memory_order_seq_cst);
		is_inside = before_;
	}

	inside_mark(const inside_mark &) = delete;
	inside_mark &operator=(const inside_mark &) = delete;

private:
	const bool before_; /* a destructor may call libslab */
};

template <typename Call> inline auto inside(Call call)
{
	inside_mark mark;

	return call();
}

} /* namespace soak */
