/* SPDX-License-Identifier: MIT */
#include "percpu/scratch.h"

#include <pthread.h>

#define SCRATCHES 16u
static struct scratch scratches[SCRATCHES];

static void set_holder(struct scratch *scratch, uintptr_t thread)
{
	__atomic_store_n(&scratch->holder, thread, __ATOMIC_RELAXED);
}

struct scratch *scratch_try(int cpu)
{
	struct scratch *scratch = &scratches[(unsigned)cpu % SCRATCHES];

	if (!cpu_lock_try(&scratch->lock))
		return NULL;
	set_holder(scratch, (uintptr_t)pthread_self());
	return scratch;
}

void scratch_drop(struct scratch *scratch, unsigned used)
{
	memset(scratch->objs, 0, used * sizeof(scratch->objs[0]));
	set_holder(scratch, 0);
	cpu_lock_drop(&scratch->lock);
}

/* A thread may fork within a destructor, or the handler of reports. */
void scratch_after_fork_child(void)
{
	for (unsigned i = 0; i < SCRATCHES; i++)
		if (scratches[i].holder != (uintptr_t)pthread_self())
			scratches[i].lock.word = CPU_LOCK_FREE;
}
