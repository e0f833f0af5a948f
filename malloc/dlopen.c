/* SPDX-License-Identifier: MIT */
/*
 * dlopen() and dlmopen() without RTLD_DEEPBIND. A library that is loaded with this flag finds the C
 * library's free() before this library's, and would call it for blocks of this library.
 *
 * The dynamic linker takes the return address for the library that calls: its RUNPATH, $ORIGIN and
 * namespace apply. So each function here jumps to the next one of its name, and the program's own
 * return address stays on the stack. That is a tail call, for which this file is always compiled
 * with optimization.
 *
 * What is lost: a library that relies on the flag to prefer its own symbols to those of the same
 * name in the program gets the program's. Libraries in a namespace of their own (dlmopen()) have
 * a C library of their own, whose malloc() they use: there the flag stays.
 */
#include <dlfcn.h>
#include <string.h>

typedef void any_function(void);
typedef void *open_function(const char *file, int mode);
typedef void *open_in_function(Lmid_t space, const char *file, int mode);

/* The next function of a name; *known keeps it. Constructors of other libraries may be the first
 * to call. */
static any_function *next(const char *name, any_function **known)
{
	any_function *function = __atomic_load_n(known, __ATOMIC_RELAXED);

	if (!function) {
		void *found = dlsym(RTLD_NEXT, name);

		memcpy(&function, &found, sizeof(function));
		__atomic_store_n(known, function, __ATOMIC_RELAXED);
	}
	return function;
}

void *dlopen(const char *file, int mode)
{
	static any_function *known;

	return ((open_function *)next("dlopen", &known))(file, mode & ~RTLD_DEEPBIND);
}

void *dlmopen(Lmid_t space, const char *file, int mode)
{
	static any_function *known;
	open_in_function *open = (open_in_function *)next("dlmopen", &known);

	return open(space, file, space == LM_ID_BASE ? mode & ~RTLD_DEEPBIND : mode);
}
