/* SPDX-License-Identifier: MIT */
/*
 * What symbolize_test.py looks up: return addresses of calls whose functions and lines are known.
 * Each is a line of the output: a word, its offset in this program and in its function, lines.
 * Compiled with -O2, so that calls that end a function become jumps.
 */
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))
#define INLINE __attribute__((always_inline)) static inline
/* Stands behind a call that is to be no jump. */
#define NO_JUMP __asm__ volatile("")
#define PASTE(a, b) a##b
#define LONG_NAME                                                                                  \
	PASTE(a_function_whose_name_alone_has_more_bytes_than_slab_symbolize,                      \
	      _prints_of_a_frame_which_are_one_hundred_and_twenty_seven_of_them)

extern const char __executable_start;

static uintptr_t innermost_frame, caller_frame, outer_frame;
static int inner_line, middle_line, outer_line, jump_line;

static void print(const char *word, uintptr_t frame, uintptr_t function)
{
	printf("%s %zx %zx %d %d %d\n", word, frame - (uintptr_t)&__executable_start,
	       frame - function, inner_line, middle_line, outer_line);
}

NOINLINE static uintptr_t here(void)
{
	NO_JUMP;
	return (uintptr_t)__builtin_return_address(0);
}

/* Inlined code in inlined code, and a wrapper that is none of the frames. */
__attribute__((always_inline, artificial)) static inline uintptr_t wrapper(void)
{
	const uintptr_t frame = here();

	NO_JUMP;
	return frame;
}

INLINE uintptr_t inner_code(void)
{
	inner_line = __LINE__ + 1;
	return wrapper();
}

INLINE uintptr_t middle_code(void)
{
	middle_line = __LINE__ + 1;
	return inner_code();
}

NOINLINE static void outer_function(void)
{
	outer_line = __LINE__ + 1;
	print("inlined", middle_code(), (uintptr_t)outer_function);
}

NOINLINE static void known_function(void)
{
	outer_line = __LINE__ + 1;
	print("known", here(), (uintptr_t)known_function);
}

NOINLINE static void LONG_NAME(void)
{
	outer_line = __LINE__ + 1;
	print("long", here(), (uintptr_t)LONG_NAME);
}

/* --- functions that are left by a jump --- */

NOINLINE static void innermost(void)
{
	innermost_frame = here();
	caller_frame = (uintptr_t)__builtin_return_address(0);
}

NOINLINE static void other(void)
{
	innermost_frame = here();
}

/* The name decides that it is one of libslab's. */
NOINLINE static void slab_of_no_library(void)
{
	caller_frame = (uintptr_t)__builtin_return_address(0);
}

NOINLINE static void jumps_on(void)
{
	jump_line = __LINE__ + 1;
	innermost();
}

NOINLINE static void jumps_to_libslab(void)
{
	jump_line = __LINE__ + 1;
	slab_of_no_library();
}

NOINLINE static void calls_first(void)
{
	innermost();
	if (caller_frame) {
		outer_frame = (uintptr_t)__builtin_return_address(0);
		return;
	}
	other();
}

/* Its number, not a pointer: DWARF would not know which function it is. */
NOINLINE static void outer(int number)
{
	if (number == 0)
		jumps_on();
	else if (number == 1)
		jumps_to_libslab();
	else
		calls_first();
	NO_JUMP;
}

int main(void)
{
	static const char *const words[] = {"jumps_on", "jumps_to_libslab", "calls_first"};

	known_function();
	outer_function();
	LONG_NAME();
	for (int i = 0; i < 3; i++) {
		outer(i);
		outer_line = jump_line;
		print(words[i], innermost_frame, 0);
		print(words[i], caller_frame, 0);
		print(words[i], outer_frame, 0);
	}
	return 0;
}
