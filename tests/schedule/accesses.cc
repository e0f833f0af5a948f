/* SPDX-License-Identifier: MIT */
/*
 * Each access to memory is a mark. The rooms core and percpu and two engines are compiled once more
 * for this program with -fsanitize=thread, which calls these functions before each access and in
 * place of each atomic operation; no other part of ThreadSanitizer is used. The names are the
 * compiler's.
 */
#include "scheduler.h"

#pragma GCC diagnostic ignored "-Wmissing-declarations"

namespace
{

template <typename T> void note_lock(const volatile T *at, T before, T after)
{
	if (sizeof(T) == sizeof(std::uint32_t))
		schedule_lock_word(at, static_cast<std::uint32_t>(before),
				   static_cast<std::uint32_t>(after));
}

} /* namespace */

extern "C" {

#define ACCESS(name)                                                                               \
	void __tsan_##name(void *)                                                                 \
	{                                                                                          \
		schedule_access();                                                                 \
	}
#define ACCESSES(n)                                                                                \
	ACCESS(read##n) ACCESS(write##n) ACCESS(unaligned_read##n) ACCESS(unaligned_write##n)

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

void __tsan_func_entry(void *)
{
	schedule_entry();
}

void __tsan_read_range(void *, unsigned long)
{
	schedule_access();
}

void __tsan_write_range(void *, unsigned long)
{
	schedule_access();
}

void __tsan_func_exit() {}
void __tsan_init() {}
void __tsan_atomic_signal_fence(int) {}

void __tsan_atomic_thread_fence(int)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#define FETCHES(bits, type, op)                                                                    \
	type __tsan_atomic##bits##_##op(volatile type *at, type value, int)                        \
	{                                                                                          \
		schedule_access();                                                                 \
		return __atomic_##op(at, value, __ATOMIC_SEQ_CST);                                 \
	}
#define COMPARES(bits, type, strength, weak)                                                       \
	int __tsan_atomic##bits##_compare_exchange_##strength(volatile type *at, type *expected,   \
							      type value, int, int)                \
	{                                                                                          \
		schedule_access();                                                                 \
		const bool done = __atomic_compare_exchange_n(at, expected, value, weak,           \
							      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
                                                                                                   \
		if (done)                                                                          \
			note_lock(at, *expected, value);                                           \
		return done;                                                                       \
	}
#define ATOMICS(bits, type)                                                                        \
	type __tsan_atomic##bits##_load(const volatile type *at, int)                              \
	{                                                                                          \
		schedule_access();                                                                 \
		return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                      \
	}                                                                                          \
	void __tsan_atomic##bits##_store(volatile type *at, type value, int)                       \
	{                                                                                          \
		schedule_access();                                                                 \
		__atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                     \
	}                                                                                          \
	type __tsan_atomic##bits##_exchange(volatile type *at, type value, int)                    \
	{                                                                                          \
		schedule_access();                                                                 \
		const type before = __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);              \
                                                                                                   \
		note_lock(at, before, value);                                                      \
		return before;                                                                     \
	}                                                                                          \
	FETCHES(bits, type, fetch_add)                                                             \
	FETCHES(bits, type, fetch_sub)                                                             \
	FETCHES(bits, type, fetch_and)                                                             \
	FETCHES(bits, type, fetch_or)                                                              \
	FETCHES(bits, type, fetch_xor)                                                             \
	COMPARES(bits, type, strong, false)                                                        \
	COMPARES(bits, type, weak, true)

ATOMICS(8, std::uint8_t)
ATOMICS(16, std::uint16_t)
ATOMICS(32, std::uint32_t)
ATOMICS(64, std::uint64_t)

} /* extern "C" */
