/* SPDX-License-Identifier: MIT */
/*
 * Only in builds with ThreadSanitizer, which does not see into liburcu: the flavour that the server
 * uses, with annotations of what liburcu promises. What readers did before they left their sections
 * has happened before what is done after a grace period.
 */
#include <dlfcn.h>
#include "posix.h"
#include <urcu/call-rcu.h>
#include <urcu/flavor.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);
const char *__tsan_default_suppressions(void);

struct deferred {
	struct rcu_head head;
	struct rcu_head *wanted;
	void (*func)(struct rcu_head *);
};

static const struct rcu_flavor_struct *real;
static char sections_left;

/* The address by which libslab_dirsrv and the server know the flavour. */
extern struct rcu_flavor_struct urcu_memb_flavor;
struct rcu_flavor_struct urcu_memb_flavor;

/* Without liburcu's own memory and locks. */
const char *__tsan_default_suppressions(void)
{
	return "called_from_lib:liburcu.so\ncalled_from_lib:liburcu-cds.so\n";
}

static void read_unlock(void)
{
	__tsan_release(&sections_left);
	real->read_unlock();
}

static void synchronize(void)
{
	real->update_synchronize_rcu();
	__tsan_acquire(&sections_left);
}

static void run_deferred(struct rcu_head *head)
{
	struct deferred *due = (struct deferred *)(void *)head;

	__tsan_acquire(&sections_left);
	due->func(due->wanted);
	free(due);
	__tsan_release(&sections_left);
}

static void call(struct rcu_head *head, void (*func)(struct rcu_head *))
{
	struct deferred *later = malloc(sizeof(*later));

	if (!later)
		abort();
	*later = (struct deferred){.wanted = head, .func = func};
	__tsan_release(&sections_left);
	real->update_call_rcu(&later->head, run_deferred);
}

static void barrier(void)
{
	real->barrier();
	__tsan_acquire(&sections_left);
}

__attribute__((constructor)) static void annotate(void)
{
	real = dlsym(RTLD_NEXT, "urcu_memb_flavor");
	if (!real)
		abort();
	urcu_memb_flavor = *real;
	urcu_memb_flavor.read_unlock = read_unlock;
	urcu_memb_flavor.update_synchronize_rcu = synchronize;
	urcu_memb_flavor.update_call_rcu = call;
	urcu_memb_flavor.barrier = barrier;
}
