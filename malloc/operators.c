/* SPDX-License-Identifier: MIT */
/*
 * The operators new and delete of C++, in C: a program in C must not load a C++ library because of
 * them.
 *
 * Only a failure needs C++: a throwing new calls the new handler, again and again, and throws
 * std::bad_alloc at last. For this, new passes the request to the program's C++ library, whose
 * operator of the same name calls malloc() once more and does all of that.
 *
 * A program may replace some of the operators and expect the others to call them, as the standard
 * says. So new[] calls new, and the further forms of delete call the plain one: by way of the
 * dynamic linker, which finds the program's.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <slab/malloc.h>
#include <slab/stats.h>

#include "family.h"
#include "tick.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define FAILURE __attribute__((noinline, cold))

union operator
{
	void *address;
	void *(*plain)(size_t size);
	void *(*aligned)(size_t size, size_t align);
	void *(*or_null)(size_t size, const void *nothrow);
	void *(*aligned_or_null)(size_t size, size_t align, const void *nothrow);
};

static void *find_in(const char *library, const char *name)
{
	void *handle = library ? dlopen(library, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	void *found = handle ? dlsym(handle, name) : NULL;

	if (handle)
		dlclose(handle);
	return found;
}

static const char *library_of(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) ? info.dli_fname : NULL;
}

/* A plug-in may have loaded the C++ library for itself alone, or contain it (-static-libstdc++), so
 * that the search behind this library does not find it. */
void *find_of_cxx(const char *name, const void *caller)
{
	static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1", "libc++.so.1"};
	void *found = dlsym(RTLD_NEXT, name);

	for (size_t i = 0; !found && i < sizeof(libraries) / sizeof(libraries[0]); i++)
		found = find_in(libraries[i], name);
	return found ? found : find_in(library_of(caller), name);
}

static union operator find_operator(const char *name, const void *caller)
{
	return (union operator){.address = find_of_cxx(name, caller) };
}

/* For those that must not return NULL. */
static union operator need_operator(const char *name, const void *caller)
{
	static const char message[] =
		"libslab_malloc: operator new: out of memory, and no C++ library to throw bad_alloc\n";
	const union operator found = find_operator(name, caller);

	if (!found.address) {
		slab_write_stderr(message, sizeof(message) - 1);
		abort();
	}
	return found;
}

/* --- new ------------------------------------------------------------------------------ */

/* The operators of this library, whatever the program has replaced. */
extern void *own_object(size_t size) __attribute__((alias("_Znwm"), visibility("hidden")));
extern void *own_array(size_t size) __attribute__((alias("_Znam"), visibility("hidden")));
extern void *own_object_aligned(size_t size, size_t align)
	__attribute__((alias("_ZnwmSt11align_val_t"), visibility("hidden")));
extern void *own_array_aligned(size_t size, size_t align)
	__attribute__((alias("_ZnamSt11align_val_t"), visibility("hidden")));

/* The operator of the C++ library calls malloc(). */
static FAILURE void *new_failed(enum slab_pair pair, size_t size, const void *caller)
{
	void *ptr = need_operator("_Znwm", caller).plain(size);

	slab_set_pair(ptr, pair);
	return ptr;
}

static FAILURE void *new_aligned_failed(enum slab_pair pair, size_t size, size_t align,
					const void *caller)
{
	void *ptr = need_operator("_ZnwmSt11align_val_t", caller).aligned(size, align);

	slab_set_pair(ptr, pair);
	return ptr;
}

static inline void *new_pair(enum slab_pair pair, size_t size, const void *caller)
{
	void *ptr = slab_new_from(pair, 0, size, caller);

	return LIKELY(ptr) ? ptr : new_failed(pair, size, caller);
}

static inline void *new_pair_aligned(enum slab_pair pair, size_t size, size_t align,
				     const void *caller)
{
	void *ptr = slab_new_from(pair, align, size, caller);

	return LIKELY(ptr) ? ptr : new_aligned_failed(pair, size, align, caller);
}

void *new_object(size_t size)
{
	return new_pair(SLAB_PAIR_NEW, size, __builtin_return_address(0));
}

void *new_array(size_t size)
{
	if (!LIKELY(new_object == own_object))
		return new_object(size);
	return new_pair(SLAB_PAIR_NEW_ARRAY, size, __builtin_return_address(0));
}

void *new_object_aligned(size_t size, size_t align)
{
	return new_pair_aligned(SLAB_PAIR_NEW, size, align, __builtin_return_address(0));
}

void *new_array_aligned(size_t size, size_t align)
{
	if (!LIKELY(new_object_aligned == own_object_aligned))
		return new_object_aligned(size, align);
	return new_pair_aligned(SLAB_PAIR_NEW_ARRAY, size, align, __builtin_return_address(0));
}

/* --- new that returns NULL --------------------------------------------------------------- */

/* These forms are to call the throwing ones and catch the exception. They do so only where the
 * program has replaced one of those. */
static FAILURE void *or_null_failed(const char *name, size_t size, const void *nothrow,
				    const void *caller)
{
	const union operator found = find_operator(name, caller);

	return found.address ? found.or_null(size, nothrow) : NULL;
}

static FAILURE void *aligned_or_null_failed(const char *name, size_t size, size_t align,
					    const void *nothrow, const void *caller)
{
	const union operator found = find_operator(name, caller);

	return found.address ? found.aligned_or_null(size, align, nothrow) : NULL;
}

void *new_object_or_null(size_t size, const void *nothrow)
{
	const void *caller = __builtin_return_address(0);
	void *ptr = are_own() ? slab_new_from(SLAB_PAIR_NEW, 0, size, caller) : NULL;

	return LIKELY(ptr) ? ptr : or_null_failed("_ZnwmRKSt9nothrow_t", size, nothrow, caller);
}

void *new_array_or_null(size_t size, const void *nothrow)
{
	const void *caller = __builtin_return_address(0);
	void *ptr = are_own() ? slab_new_from(SLAB_PAIR_NEW_ARRAY, 0, size, caller) : NULL;

	return LIKELY(ptr) ? ptr : or_null_failed("_ZnamRKSt9nothrow_t", size, nothrow, caller);
}

void *new_object_aligned_or_null(size_t size, size_t align, const void *nothrow)
{
	static const char name[] = "_ZnwmSt11align_val_tRKSt9nothrow_t";
	const void *caller = __builtin_return_address(0);
	void *ptr = are_own_aligned() ? slab_new_from(SLAB_PAIR_NEW, align, size, caller) : NULL;

	return LIKELY(ptr) ? ptr : aligned_or_null_failed(name, size, align, nothrow, caller);
}

void *new_array_aligned_or_null(size_t size, size_t align, const void *nothrow)
{
	static const char name[] = "_ZnamSt11align_val_tRKSt9nothrow_t";
	const void *caller = __builtin_return_address(0);
	void *ptr =
		are_own_aligned() ? slab_new_from(SLAB_PAIR_NEW_ARRAY, align, size, caller) : NULL;

	return LIKELY(ptr) ? ptr : aligned_or_null_failed(name, size, align, nothrow, caller);
}

/* --- delete ------------------------------------------------------------------------------- */

extern void own_delete(void *ptr) __attribute__((alias("_ZdlPv"), visibility("hidden")));
extern void own_delete_array(void *ptr) __attribute__((alias("_ZdaPv"), visibility("hidden")));
extern void own_delete_aligned(void *ptr, size_t align)
	__attribute__((alias("_ZdlPvSt11align_val_t"), visibility("hidden")));
extern void own_delete_array_aligned(void *ptr, size_t align)
	__attribute__((alias("_ZdaPvSt11align_val_t"), visibility("hidden")));

void delete_object(void *ptr)
{
	tick_count();
	slab_delete(ptr, SLAB_PAIR_NEW, 0, SLAB_ANY_SIZE);
}

void delete_array(void *ptr)
{
	if (!LIKELY(delete_object == own_delete)) {
		delete_object(ptr);
		return;
	}
	tick_count();
	slab_delete(ptr, SLAB_PAIR_NEW_ARRAY, 0, SLAB_ANY_SIZE);
}

/* Only on request is the size checked: a program that deletes an object by a base class without a
 * virtual destructor passes a wrong one, and the C library ignores it. */
void delete_object_sized(void *ptr, size_t size)
{
	if (!LIKELY(delete_object == own_delete)) {
		delete_object(ptr);
		return;
	}
	tick_count();
	slab_delete(ptr, SLAB_PAIR_NEW, 0, size);
}

void delete_array_sized(void *ptr, size_t size)
{
	if (!LIKELY(delete_array == own_delete_array && delete_object == own_delete)) {
		delete_array(ptr);
		return;
	}
	tick_count();
	slab_delete(ptr, SLAB_PAIR_NEW_ARRAY, 0, size);
}

void delete_object_or_null(void *ptr, const void *nothrow)
{
	(void)nothrow;
	delete_object(ptr);
}

void delete_array_or_null(void *ptr, const void *nothrow)
{
	(void)nothrow;
	delete_array(ptr);
}

void delete_object_aligned(void *ptr, size_t align)
{
	(void)align;
	slab_delete(ptr, SLAB_PAIR_NEW, 0, SLAB_ANY_SIZE);
}

void delete_array_aligned(void *ptr, size_t align)
{
	if (LIKELY(delete_object_aligned == own_delete_aligned))
		slab_delete(ptr, SLAB_PAIR_NEW_ARRAY, 0, SLAB_ANY_SIZE);
	else
		delete_object_aligned(ptr, align);
}

void delete_object_sized_aligned(void *ptr, size_t size, size_t align)
{
	if (LIKELY(delete_object_aligned == own_delete_aligned))
		slab_delete(ptr, SLAB_PAIR_NEW, align, size);
	else
		delete_object_aligned(ptr, align);
}

void delete_array_sized_aligned(void *ptr, size_t size, size_t align)
{
	if (LIKELY(delete_array_aligned == own_delete_array_aligned &&
		   delete_object_aligned == own_delete_aligned))
		slab_delete(ptr, SLAB_PAIR_NEW_ARRAY, align, size);
	else
		delete_array_aligned(ptr, align);
}

void delete_object_aligned_or_null(void *ptr, size_t align, const void *nothrow)
{
	(void)nothrow;
	delete_object_aligned(ptr, align);
}

void delete_array_aligned_or_null(void *ptr, size_t align, const void *nothrow)
{
	(void)nothrow;
	delete_array_aligned(ptr, align);
}
