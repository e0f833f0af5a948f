/* SPDX-License-Identifier: MIT */
/*
 * Allocation by size and type, for programs that clang compiles with -fsanitize=alloc-token.
 *
 * The compiler passes each allocation a token, a hash of its type's name. libslab_malloc.so has the
 * functions that it calls, such as __alloc_token_malloc(), and passes them on to those of this
 * header. So each type has caches of its own, with the type's name or its token in slabinfo and in
 * reports (docs/types.md).
 *
 * The first size of a type has a cache of exactly this size. Further sizes have a cache for each
 * size class of <slab/malloc.h> in which the type has some allocations. Those above
 * SLAB_MALLOC_MAX_CACHED have no cache, but a cache of their type counts them. Token 0 stands for
 * no type. Ordinary caches serve it, and all types after SLAB_TOKEN_CACHES_MAX caches. Memory is
 * freed as in <slab/malloc.h>.
 *
 * All functions are MT-safe, fork-safe and cancel-safe, and not async-signal-safe; <slab/slab.h>
 * defines these words.
 */
#ifndef SLAB_TOKEN_H
#define SLAB_TOKEN_H

#include <slab/malloc.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most caches of types. */
#define SLAB_TOKEN_CACHES_MAX 4096u

/* The longest name of a type. */
#define SLAB_TOKEN_NAME_MAX 56

/* The token of void: clang passes it for (void *)malloc(n), and it says no more than token 0. What
 * libslab_token.a has takes it for that. */
#define SLAB_TOKEN_VOID UINT64_C(0x4a2f84459ea703e6)

#ifdef __SANITIZE_ALLOC_TOKEN__
/* SLAB_TOKEN_OF(struct foo): the token of a type, in a program that is compiled with tokens. */
#define SLAB_TOKEN_OF(type) __builtin_infer_alloc_token(sizeof(type))
#endif

/* slab_token_malloc, slab_token_calloc, slab_token_memalign: slab_malloc(), slab_calloc() and
 * slab_memalign() for a type. Call sites and reports show the code address `caller`, such as
 * __builtin_return_address(0) of a wrapper. */
SLAB_API void *slab_token_malloc(size_t size, uint64_t token, const void *caller)
	SLAB_ALLOCATOR_(slab_mfree, 1);
SLAB_API void *slab_token_calloc(size_t n, size_t size, uint64_t token, const void *caller)
	SLAB_ALLOCATOR_(slab_mfree, 1);
SLAB_API void *slab_token_memalign(size_t align, size_t size, uint64_t token, const void *caller)
	SLAB_ALLOCATOR_(slab_mfree, 1);

/* slab_token_new: slab_new_from() for a type. */
SLAB_API void *slab_token_new(enum slab_pair pair, size_t align, size_t size, uint64_t token,
			      const void *caller) SLAB_ATTR_(warn_unused_result);

/* slab_token_realloc: slab_realloc() for a type. Memory of another type moves to this one; with
 * token 0, as in slab_realloc(), it keeps its type. */
SLAB_API void *slab_token_realloc(void *ptr, size_t size, uint64_t token, const void *caller)
	SLAB_ATTR_(warn_unused_result);

/*
 * slab_token_name: give a type's caches, present and future, the name NAME, and NAME-96 or NAME-2k
 * for a size class. A name that another cache has already is left to it. Without a name a type's
 * caches are called token-D5D5177A51D2519E, with the digits of its token.
 *
 * @token  such as SLAB_TOKEN_OF(struct conn)
 * @name   1 to SLAB_TOKEN_NAME_MAX printable characters without blanks
 *
 * Returns 0, or -EINVAL, or -ENOMEM if there is no memory or there are too many types.
 */
SLAB_API int slab_token_name(uint64_t token, const char *name);

/*
 * SLAB_TOKEN_WRAPPER(void *, my_alloc, (size_t n, size_t size), (n, size)): let an allocation
 * function of the program pass types on. It is declared with the attribute alloc_size or malloc.
 * With -fsanitize-alloc-token-extended the compiler calls __alloc_token_my_alloc() in its place,
 * which this macro defines in one file. What my_alloc() allocates inside, in the same program or
 * library, gets the type, whatever a cast there says. If it is left by longjmp() or an exception,
 * the thread's further allocations get it, too.
 */
#define SLAB_TOKEN_WRAPPER(type, name, parameters, arguments)                                      \
	type __alloc_token_##name SLAB_TOKEN_PARAMETERS_ parameters                                \
	{                                                                                          \
		const uint64_t before_ = slab_token_wrapped;                                       \
		type(*plain_) parameters = name;                                                   \
		type allocated_;                                                                   \
                                                                                                   \
		/* The compiler must not know that it calls NAME. */                               \
		__asm__("" : "+r"(plain_));                                                        \
		if (token_ && token_ != SLAB_TOKEN_VOID)                                           \
			slab_token_wrapped = token_;                                               \
		allocated_ = plain_ arguments;                                                     \
		slab_token_wrapped = before_;                                                      \
		return allocated_;                                                                 \
	}
#define SLAB_TOKEN_PARAMETERS_(...) (__VA_ARGS__, uint64_t token_)

/* Of libslab_token.a: the token that a wrapper of this thread was called with; 0: none. */
extern __thread uint64_t slab_token_wrapped
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

#ifdef __cplusplus
}
#endif

#endif /* SLAB_TOKEN_H */
