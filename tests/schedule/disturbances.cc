/* SPDX-License-Identifier: MIT */
/* What happens to threads of the scheduler: they are preempted with a lock, interrupted by signals,
 * cancelled. */
#include "scheduler.h"

#include "../support/rooms.h"

namespace
{

constexpr unsigned vain_turns = 60; /* of each thread that waits; more than a bounded wait has */

void on_signal(int)
{
	const int saved = errno;
	scheduler *one = running_under();

	if (one && one->me().handler && !one->me().handles) {
		player &self = one->me();
		const unsigned steps = stop_stepping();

		self.handles = true;
		(*self.handler)();
		self.handles = false;
		go_on_stepping(steps);
	}
	errno = saved;
}

} /* namespace */

/* --- a preempted holder of a lock ------------------------------------------------------------- */

void scheduler::stop_holder(const void *lock, unsigned nth)
{
	holder_ = &me();
	stop_at_ = lock;
	stops_after_ = nth;
}

void scheduler::took(const void *lock)
{
	me().locks_taken++;
	if (!stop_at_ || lock != stop_at_ || holder_ != &me() || --stops_after_)
		return;
	stop_at_ = nullptr;
	holder_was_stopped_ = holder_->stopped = true;
	idle_turns_ = 0;
	give_turn_to(choose());
}

/* If no other thread can, or all have waited for long. */
bool scheduler::holder_goes_on(bool others_can)
{
	if (!holder_is_stopped() ||
	    (others_can && idle_turns_ < vain_turns * static_cast<unsigned>(players_.size())))
		return false;
	holder_->stopped = false;
	idle_turns_ = 0;
	return true;
}

void schedule_stop_holder(const void *lock, unsigned nth)
{
	running_under()->stop_holder(lock, nth);
}

bool schedule_holder_was_stopped()
{
	return running_under()->holder_was_stopped();
}

bool schedule_holder_is_stopped()
{
	return running_under()->holder_is_stopped();
}

/* --- signals ---------------------------------------------------------------------------------- */

/* By a signal, maybe: the library may have blocked it, and a handler runs when it is unblocked. */
bool scheduler::interrupt()
{
	player &self = me();

	if (!self.handler || self.handles || random(self.signal_odds))
		return false;
	raise(SIGUSR1);
	return true;
}

void schedule_signals(const std::function<void()> *handler, unsigned odds)
{
	struct sigaction action = {};
	player &self = running_under()->me();

	action.sa_handler = on_signal;
	sigaction(SIGUSR1, &action, nullptr);
	self.handler = handler;
	self.signal_odds = odds;
}

void schedule_alone(const std::function<void()> &act)
{
	player &self = running_under()->me();

	self.alone = true;
	act();
	self.alone = false;
}

unsigned schedule_locks_taken()
{
	return running_under()->me().locks_taken;
}

/* --- cancellation ----------------------------------------------------------------------------- */

void schedule_cancel(std::size_t i)
{
	const auto &victim = running_under()->players()[i];

	if (!victim->done)
		pthread_cancel(victim->thread.native_handle());
}
