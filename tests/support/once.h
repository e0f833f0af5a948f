/* SPDX-License-Identifier: MIT */
/* A call at an injection point. */
#pragma once

#include "rooms.h"

inline int once_point;
inline std::function<void()> once_call;

/* The first thread that passes the point calls `call`, once. */
inline void once_at(int point, std::function<void()> call)
{
	once_point = point;
	once_call = std::move(call);
	cpu_inject_hook = [](int passed) {
		if (passed != once_point)
			return;
		cpu_inject_hook = nullptr;
		once_call();
	};
}
