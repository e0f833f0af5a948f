/* SPDX-License-Identifier: MIT */
/*
 * Valgrind gets announcements by client requests, which are no-ops outside of valgrind. The
 * functions of AddressSanitizer and ThreadSanitizer are weak symbols: they exist if some part of
 * the program was built with the sanitizer. ThreadSanitizer follows the code of a libslab that was
 * built with it, and then needs no announcements.
 */
#include "report/annotate.h"
#include "base/options.h"

#ifdef SLAB_HAVE_VALGRIND
#include <valgrind/memcheck.h>
#else
#define RUNNING_ON_VALGRIND 0
#define VALGRIND_MALLOCLIKE_BLOCK(obj, size, red, zeroed)                                          \
	((void)(obj), (void)(size), (void)(zeroed))
#define VALGRIND_FREELIKE_BLOCK(obj, red) ((void)(obj))
#define VALGRIND_RESIZEINPLACE_BLOCK(obj, old, size, red) ((void)(obj), (void)(old), (void)(size))
#define VALGRIND_MAKE_MEM_NOACCESS(start, size) ((void)(start), (void)(size))
#define VALGRIND_MAKE_MEM_DEFINED(start, size) ((void)(start), (void)(size))
#endif

void __asan_poison_memory_region(const volatile void *start, size_t size) __attribute__((weak));
void __asan_unpoison_memory_region(const volatile void *start, size_t size) __attribute__((weak));

void __tsan_acquire(void *address) __attribute__((weak));
void __tsan_release(void *address) __attribute__((weak));

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define UNDER_TSAN false
#else
#define UNDER_TSAN (__tsan_acquire && __tsan_release)
#endif

static void asan_hide(const void *start, size_t size)
{
	if (__asan_poison_memory_region)
		__asan_poison_memory_region(start, size);
}

static void asan_show(const void *start, size_t size)
{
	if (__asan_unpoison_memory_region)
		__asan_unpoison_memory_region(start, size);
}

bool annotate_is_on(void)
{
	return slab_options()->tools &&
	       (__asan_poison_memory_region || UNDER_TSAN || RUNNING_ON_VALGRIND);
}

void annotate_publish(const void *what)
{
	if (UNDER_TSAN)
		__tsan_release((void *)what);
}

void annotate_use(const void *what)
{
	if (UNDER_TSAN)
		__tsan_acquire((void *)what);
}

void annotate_alloc(const void *obj, size_t size, bool defined)
{
	VALGRIND_MALLOCLIKE_BLOCK(obj, size, 0, defined);
	asan_show(obj, size);
	annotate_use(obj);
}

void annotate_free(const void *obj, size_t size)
{
	annotate_publish(obj);
	VALGRIND_FREELIKE_BLOCK(obj, 0);
	asan_hide(obj, size);
}

void annotate_resize(const void *obj, size_t old, size_t size)
{
	VALGRIND_RESIZEINPLACE_BLOCK(obj, old, size, 0);
	if (size < old)
		asan_hide((const char *)obj + size, old - size);
	else
		asan_show(obj, size);
}

void annotate_hide(const void *start, size_t size)
{
	VALGRIND_MAKE_MEM_NOACCESS(start, size);
	asan_hide(start, size);
}

void annotate_show(const void *start, size_t size)
{
	VALGRIND_MAKE_MEM_DEFINED(start, size);
	asan_show(start, size);
}
