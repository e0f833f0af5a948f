/* SPDX-License-Identifier: MIT */
/* Threads of workers: births, exits, cancellations. */
#include "conductor.h"

#include "faults.h"

namespace soak
{

namespace
{

std::mutex lock;
unsigned seats;

/* With the lock. */
void start(struct worker &worker)
{
	worker.leave = false;
	worker.tid = 0;
	worker.joinable = create_thread(&worker.thread, work, &worker) == 0;
}

void forget_thread(struct worker &worker)
{
	worker.joinable = false;
	worker.tid = 0;
}

} /* namespace */

void fill_roster(unsigned count)
{
	std::lock_guard<std::mutex> guard(lock);

	seats = count;
	for (unsigned i = 0; i < seats; i++)
		start(workers[i]);
}

void empty_roster()
{
	std::lock_guard<std::mutex> guard(lock);

	for (unsigned i = 0; i < seats; i++)
		workers[i].leave = true;
	for (unsigned i = 0; i < seats; i++) {
		if (workers[i].joinable)
			pthread_join(workers[i].thread, nullptr);
		forget_thread(workers[i]);
	}
}

void cancel_one(chance &random)
{
	std::lock_guard<std::mutex> guard(lock);
	struct worker &worker = workers[random.below(seats)];

	if (worker.joinable)
		pthread_cancel(worker.thread);
}

void retire_one(chance &random)
{
	std::lock_guard<std::mutex> guard(lock);

	workers[random.below(seats)].leave = true;
}

void renew_ended()
{
	std::lock_guard<std::mutex> guard(lock);

	for (unsigned i = 0; i < seats; i++) {
		if (workers[i].joinable && pthread_tryjoin_np(workers[i].thread, nullptr) != 0)
			continue;
		start(workers[i]);
	}
}

/* It may have ended: then signals and affinities go nowhere. */
pid_t some_thread(chance &random)
{
	return workers[random.below(seats)].tid.load();
}

} /* namespace soak */
