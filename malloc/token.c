/* SPDX-License-Identifier: MIT */
/* The functions with tokens (token_entries.h). What is unusual goes to the plain function. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <slab/token.h>

#include "family.h"
#include "token_entries.h"

#define CALLER __builtin_return_address(0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

void *__alloc_token_malloc(size_t size, uint64_t token)
{
	return slab_token_malloc(size, token, CALLER);
}

void *__alloc_token_calloc(size_t n, size_t size, uint64_t token)
{
	return slab_token_calloc(n, size, token, CALLER);
}

void *__alloc_token_realloc(void *ptr, size_t size, uint64_t token)
{
	return slab_token_realloc(ptr, size, token, CALLER);
}

void *__alloc_token_reallocarray(void *ptr, size_t n, size_t size, uint64_t token)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return slab_token_realloc(ptr, bytes, token, CALLER);
}

void *__alloc_token_aligned_alloc(size_t align, size_t size, uint64_t token)
{
	return slab_token_memalign(align, size, token, CALLER);
}

void *__alloc_token_memalign(size_t align, size_t size, uint64_t token)
{
	return is_power_of_two(align) ? slab_token_memalign(align, size, token, CALLER)
				      : memalign(align, size);
}

int __alloc_token_posix_memalign(void **ret_ptr, size_t align, size_t size, uint64_t token)
{
	const int saved = errno;
	void *ptr;

	if (!is_power_of_two(align) || align % sizeof(void *))
		return EINVAL;
	ptr = slab_token_memalign(align, size, token, CALLER);
	errno = saved;
	if (!ptr)
		return ENOMEM;
	*ret_ptr = ptr;
	return 0;
}

/* Whole pages have no type. */
void *__alloc_token_valloc(size_t size, uint64_t token)
{
	(void)token;
	return valloc(size);
}

void *__alloc_token_pvalloc(size_t size, uint64_t token)
{
	(void)token;
	return pvalloc(size);
}

/* --- new ------------------------------------------------------------------------------ */

/* More than any operator can have. */
#define NEVER ((size_t)PTRDIFF_MAX + 1)

enum handled { HANDLED_NOTHING, HANDLED_FAIL, HANDLED_AGAIN };

/* The loop of the standard asks the new handler for memory until there is none. A program whose C++
 * library is out of sight, such as a static one, goes on without a type. */
static __attribute__((noinline, cold)) enum handled handle(const void *caller)
{
	static const char name[] = "_ZSt15get_new_handlerv";
	union {
		void *address;
		void (*(*get)(void))(void);
	} found = {.address = dlsym(RTLD_DEFAULT, name)};
	void (*handler)(void);

	if (!found.address)
		found.address = find_of_cxx(name, caller);
	if (!found.address)
		return HANDLED_NOTHING;
	handler = found.get();
	if (!handler)
		return HANDLED_FAIL;
	handler();
	return HANDLED_AGAIN;
}

#define THROWS(name) (!strstr(#name, "nothrow"))

/* The plain operator fails as it must. One that does not throw would have to catch what a handler
 * throws: it tries again without a type. */
#define NEW(own, typed_call, type, name, parameters, arguments)                                    \
	type name parameters;                                                                      \
	type __alloc_token_##name AND_TOKEN parameters                                             \
	{                                                                                          \
		enum handled handled = HANDLED_AGAIN;                                              \
		void *ptr = NULL;                                                                  \
                                                                                                   \
		while (handled == HANDLED_AGAIN && LIKELY(own) && !LIKELY(ptr = typed_call) &&     \
		       THROWS(name))                                                               \
			handled = handle(CALLER);                                                  \
		if (handled == HANDLED_FAIL)                                                       \
			size = NEVER;                                                              \
		return LIKELY(ptr) ? ptr : name arguments;                                         \
	}
/* _Znw…: new; _Zna…: new[] */
#define PAIR(name) (#name[3] == 'a' ? SLAB_PAIR_NEW_ARRAY : SLAB_PAIR_NEW)
#define NEW_PLAIN(type, name, ...)                                                                 \
	NEW(are_own(), slab_token_new(PAIR(name), 0, size, token, CALLER), type, name, __VA_ARGS__)
#define NEW_ALIGNED(type, name, ...)                                                               \
	NEW(are_own_aligned(), slab_token_new(PAIR(name), align, size, token, CALLER), type, name, \
	    __VA_ARGS__)

TOKEN_ENTRIES_NEW(NEW_PLAIN)
TOKEN_ENTRIES_ALIGNED_NEW(NEW_ALIGNED)
