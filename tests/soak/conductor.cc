/* SPDX-License-Identifier: MIT */
/* Conductors: which disturbance comes next, and how often. */
#include "conductor.h"

#include "../support/cpus.h"
#include "faults.h"

namespace soak
{

struct conductor conductors[conductors_most];
std::atomic<bool> conductors_leave;

namespace
{

/* After a disturbance the threads work without one for so many times as long, within limits. */
constexpr long rest_factor = 5, rest_least_ns = 100000, rest_most_ns = 50000000;
constexpr unsigned seat_objects = 16;

long now_ns()
{
	struct timespec now = {};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

void rest(long ns)
{
	const long wanted = ns * rest_factor;
	const struct timespec pause = {0, wanted < rest_least_ns  ? rest_least_ns
					  : wanted > rest_most_ns ? rest_most_ns
								  : wanted};

	nap(&pause);
}

struct disturbance &choose(chance &random)
{
	unsigned all = 0, dice, i = 0;

	for (unsigned j = 0; j < disturbances_count; j++)
		all += disturbances[j].weight;
	for (dice = random.below(all); dice >= disturbances[i].weight; i++)
		dice -= disturbances[i].weight;
	return disturbances[i];
}

/* Objects that the parent has while it forks. */
void fill_seat(struct worker &seat)
{
	while (seat.n < seat_objects)
		seat.n += obtain(choose_kind(seat.random), seat.random, &seat.stamps, 1,
				 &seat.objects[seat.n]);
}

} /* namespace */

void conductor::begin(unsigned index, std::uint64_t seed)
{
	random = chance(seed * workers_most + workers_most - 1 - index + (seed << 32));
	number = index;
	seat.begin(workers_most + index, seed);
}

void conductor::disturb()
{
	struct disturbance &next = choose(random);
	const long before = now_ns();

	next.make(this);
	next.made.fetch_add(1, std::memory_order_relaxed);
	rest(now_ns() - before);
}

void *conduct(void *arg)
{
	auto *self = static_cast<struct conductor *>(arg);

	watch_cancellation_points();
	fill_seat(self->seat);
	while (!conductors_leave.load(std::memory_order_relaxed))
		self->disturb();
	self->seat.drop_all();
	return nullptr;
}

unsigned long disturbances_made()
{
	unsigned long all = 0;

	for (unsigned i = 0; i < disturbances_count; i++)
		all += disturbances[i].made.load(std::memory_order_relaxed);
	return all;
}

} /* namespace soak */
