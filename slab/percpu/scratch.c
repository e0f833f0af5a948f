/* SPDX-License-Identifier: MIT */
/* A scratch lies in libslab's own memory, so that no search for leaks takes its old contents for
 * pointers of the program. */
#include "percpu/scratch.h"

#include <errno.h>

#include "base/compiler.h"
#include "pages/free_slabs.h"

/* CPUs beyond share. */
#define SCRATCHES 16u
static struct scratch *scratches[SCRATCHES];

static SLAB_SLOWPATH struct scratch *create(struct scratch **place)
{
	const int saved = errno;
	struct scratch *fresh = metadata_block_take(sizeof(*fresh)), *there = NULL;

	errno = saved;
	if (!fresh)
		return NULL;
	fresh->lock = (struct cpu_lock){CPU_LOCK_FREE};
	if (__atomic_compare_exchange_n(place, &there, fresh, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return fresh;
	metadata_block_put(fresh);
	return there;
}

struct scratch *scratch_try(int cpu)
{
	struct scratch **place = &scratches[(unsigned)cpu % SCRATCHES];
	struct scratch *scratch = __atomic_load_n(place, __ATOMIC_ACQUIRE);

	if (SLAB_UNLIKELY(!scratch))
		scratch = create(place);
	return scratch && cpu_lock_try(&scratch->lock) ? scratch : NULL;
}
