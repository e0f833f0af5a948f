/* SPDX-License-Identifier: MIT */
/* libslab as the process's malloc(): slab_replace_malloc(). */
#include <slab/malloc.h>

#include "base/compiler.h"
#include "cache/create.h"
#include "control/server.h"
#include "memory/maintain.h"
#include "pages/huge.h"
#include "core/init.h"
#include "cpu_cache.h"

static SLAB_EARLY bool replaces;
/* The constructor below has run. Volatile: clang executes stores of constructors when it compiles,
 * and this would be true from the start. */
static SLAB_EARLY volatile bool constructed;

/* Passes ask files and the kernel for these, and so does the first allocation. A thread that opens
 * a file may get the number that another thread, which has just closed it, expects for its own; and
 * a system call filter may end the process. So learn all of it before the program begins. */
static void learn_system(void)
{
	cpu_possible();
	huge_learn();
	slab_init();
}

/* The dynamic linker may call this before the C library's constructors, which store the
 * environment. So it must not read options. */
void slab_replace_malloc(void)
{
	if (__atomic_exchange_n(&replaces, true, __ATOMIC_RELAXED))
		return;
	slab_fork_init();
	slab_control_on_request();
	maintain_in_slow_paths();
	if (constructed)
		learn_system();
}

static __attribute__((constructor)) void construct(void)
{
	constructed = true;
	if (replaces)
		learn_system();
}
