/* SPDX-License-Identifier: MIT */
/*
 * The flavour of liburcu that tests use. ThreadSanitizer does not see into liburcu; there,
 * annotations state what liburcu promises: what readers did before they left their sections has
 * happened before what is done after a grace period.
 */
#ifndef TESTS_DIRSRV_FLAVOUR_H
#define TESTS_DIRSRV_FLAVOUR_H

#include <future>

#include <urcu/call-rcu.h>
#include <urcu/flavor.h>

#include "../../../tests/support/process.h"

extern "C" {
extern const struct rcu_flavor_struct urcu_memb_flavor;
void __tsan_acquire(void *address) __attribute__((weak));
void __tsan_release(void *address) __attribute__((weak));
}

namespace dirsrv_test
{

namespace annotated
{

inline char sections_left;

struct deferred {
	struct rcu_head head;
	struct rcu_head *wanted;
	void (*func)(struct rcu_head *);
};

inline void read_unlock()
{
	__tsan_release(&sections_left);
	urcu_memb_flavor.read_unlock();
}

inline void synchronize()
{
	urcu_memb_flavor.update_synchronize_rcu();
	__tsan_acquire(&sections_left);
}

inline void call(struct rcu_head *head, void (*func)(struct rcu_head *))
{
	auto *later = new deferred{{}, head, func};

	__tsan_release(&sections_left);
	urcu_memb_flavor.update_call_rcu(&later->head, [](struct rcu_head *given) {
		auto *due = reinterpret_cast<deferred *>(given);

		__tsan_acquire(&sections_left);
		due->func(due->wanted);
		delete due;
		__tsan_release(&sections_left);
	});
}

/* liburcu calls back in the order in which it was asked. */
inline void barrier()
{
	struct wait {
		struct rcu_head head;
		std::promise<void> over;
	} wait = {};

	call(&wait.head, [](struct rcu_head *head) {
		reinterpret_cast<struct wait *>(head)->over.set_value();
	});
	wait.over.get_future().wait();
	__tsan_acquire(&sections_left);
}

inline struct rcu_flavor_struct make()
{
	struct rcu_flavor_struct flavour = urcu_memb_flavor;

	flavour.read_unlock = read_unlock;
	flavour.update_synchronize_rcu = synchronize;
	flavour.update_call_rcu = call;
	flavour.barrier = barrier;
	return flavour;
}

} // namespace annotated

inline const struct rcu_flavor_struct *flavour()
{
	static const struct rcu_flavor_struct with_annotations = annotated::make();

	return slab_test::under_tsan ? &with_annotations : &urcu_memb_flavor;
}

} // namespace dirsrv_test

#endif /* TESTS_DIRSRV_FLAVOUR_H */
