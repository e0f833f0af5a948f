/* SPDX-License-Identifier: MIT */
/* What the threads do. */
#include "worker.h"

#include "../support/cpus.h"
#include "faults.h"

namespace soak
{

struct worker workers[workers_most];
std::atomic<int> active_most{16};

namespace
{

constexpr unsigned burst_least = 32, burst_more = 96, pairs_most = 16, bulk_most = 40;
constexpr unsigned bursts_most = 64, nap_most_ns = 60000000;

/* Where threads leave objects for each other: no thread waits for a busy place. */
struct spot {
	enum state : int { EMPTY, FULL, BUSY };

	bool become(int from, int to)
	{
		return state.compare_exchange_strong(from, to, std::memory_order_acquire,
						     std::memory_order_relaxed);
	}

	std::atomic<int> state{EMPTY};
	held object{};
};

spot board[board_places];

/* The worker of this thread. Signal handlers read it. */
thread_local struct worker *self __attribute__((tls_model("initial-exec")));

bool is_large(unsigned kind)
{
	return kinds[kind].most > 16384;
}

/* Large objects take many page faults, and those with debug flags a stack each. */
unsigned burst_length(unsigned kind, chance &random)
{
	const bool slow = is_large(kind) || kinds[kind].flags & SLAB_STORE_USER;

	return (burst_least + random.below(burst_more)) / (slow ? 16 : 1);
}

} /* namespace */

void worker::begin(unsigned index, std::uint64_t seed)
{
	random = chance(seed * workers_most + index);
	stamps = static_cast<std::uint64_t>(index + 1) << 48;
	n = large = 0;
	done = in_handler = 0;
	leave = false;
}

bool worker::has_room(unsigned kind) const
{
	return n < held_most - bulk_most && (!is_large(kind) || large < large_most);
}

/* Allocate up to `wanted` objects and hold them. */
void worker::keep(unsigned kind, unsigned wanted)
{
	const unsigned got = obtain(kind, random, &stamps, wanted, objects + n);

	n += got;
	large += is_large(kind) ? got : 0;
	count(got);
}

held worker::give_up(unsigned index)
{
	const held object = objects[index];

	objects[index] = objects[--n];
	large -= is_large(object.kind);
	return object;
}

void worker::free_one()
{
	if (!n)
		return;
	dispose(give_up(random.below(2) ? n - 1 : random.below(n)), random);
	count(1);
}

/* Free the objects of a kind, up to as many as a bulk call takes. */
void worker::free_same(unsigned kind)
{
	held same[bulk_most];
	unsigned found = 0;

	for (unsigned i = n; i-- > 0 && found < bulk_most;)
		if (objects[i].kind == kind)
			same[found++] = give_up(i);
	if (found)
		dispose_bulk(same, found);
	count(found);
}

/* Leave an object at a spot, or take the one that is there. */
void worker::pass_on()
{
	spot &at = board[random.below(board_places)];

	if (n && at.become(spot::EMPTY, spot::BUSY)) {
		at.object = give_up(n - 1);
		at.state.store(spot::FULL, std::memory_order_release);
		return;
	}
	if (!at.become(spot::FULL, spot::BUSY))
		return;
	const held object = at.object;

	at.state.store(spot::EMPTY, std::memory_order_release);
	dispose(object, random);
	count(1);
}

/* Allocate and free in turn: what servers do most. */
void worker::pairs(unsigned kind)
{
	held object;

	for (unsigned i = is_large(kind) ? pairs_most - 1 : 0; i < pairs_most; i++) {
		if (!obtain(kind, random, &stamps, 1, &object))
			continue;
		dispose(object, random);
		count(2);
		if (focused(kind) != kind)
			break;
	}
}

void worker::step(unsigned kind)
{
	const unsigned dice = random.below(16);

	if (dice < 5 && has_room(kind))
		keep(kind, 1);
	else if (dice == 5 && has_room(kind) && !is_large(kind))
		keep(kind, 1 + random.below(bulk_most));
	else if (dice == 6)
		free_same(kind);
	else if (dice == 7)
		pass_on();
	else if (dice < 10)
		pairs(kind);
	else
		free_one();
}

void worker::burst()
{
	const unsigned dice = random.below(32), kind = choose_kind(random);

	for (unsigned left = burst_length(kind, random); left; left--) {
		if (dice == 0)
			count(use_movable(random, &stamps));
		else if (dice == 1)
			count(use_reclaimable(random));
		else if (dice == 2)
			count(use_published(random, &stamps));
		else
			step(focused(kind));
	}
	if (!n)
		return;
	held &object = objects[random.below(n)];

	check(object);
	if (kinds[object.kind].way == BY_SIZE && random.below(4) == 0)
		resize(object, random);
	count(1);
}

void worker::drop_all()
{
	while (n) {
		dispose(give_up(n - 1), random);
		count(1);
	}
}

void clear_board()
{
	chance random;

	for (spot &at : board) {
		if (at.state.load(std::memory_order_acquire) == spot::FULL)
			dispose(at.object, random);
		at.state = spot::EMPTY;
	}
}

namespace
{

std::atomic<int> active;

/* Threads that may be active at once are never all blocked, and the others wait without polling
 * often: conductors shall get a CPU soon. */
bool become_active()
{
	if (active.fetch_add(1) < active_most.load(std::memory_order_relaxed))
		return true;
	active.fetch_sub(1);
	return false;
}

} /* namespace */

/* The nap is the only cancellation point. */
void *work(void *arg)
{
	self = static_cast<struct worker *>(arg);
	self->tid = thread_id();
	watch_cancellation_points();
	while (!self->leave.load(std::memory_order_relaxed)) {
		if (become_active()) {
			for (unsigned left = 1 + self->random.below(bursts_most); left; left--)
				self->burst();
			active.fetch_sub(1);
		}
		const struct timespec time = {0,
					      static_cast<long>(self->random.below(nap_most_ns))};

		nap(&time);
	}
	return nullptr;
}

/* --- signals ---------------------------------------------------------------------------------- */

namespace
{

/* The handler must not touch what the interrupted code works on, so it has a state of its own. */
struct handler_state {
	chance random{7};
	std::uint64_t stamps = 0;
	bool busy = false;
};

thread_local struct handler_state handling __attribute__((tls_model("initial-exec")));

void allocate_in_handler(struct worker *worker)
{
	held object;

	if (!handling.stamps)
		handling.stamps = UINT64_C(0xfffe) << 48;
	if (!obtain(handling.random.below(4), handling.random, &handling.stamps, 1, &object))
		return;
	dispose(object, handling.random);
	worker->in_handler.fetch_add(2, std::memory_order_relaxed);
}

/* The handler may interrupt nanosleep(), where glibc before 2.41 lets the thread be cancelled at
 * any instruction. A cancellation waits until the handler is done with libslab. */
void handle(int)
{
	const int saved = errno;
	int cancel;

	if (!self || handling.busy)
		return;
	handling.busy = true;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (is_inside)
		sched_yield();
	else
		allocate_in_handler(self);
	handling.busy = false;
	pthread_setcancelstate(cancel, nullptr);
	errno = saved;
}

} /* namespace */

void install_handler()
{
	struct sigaction action = {};

	action.sa_handler = handle;
	action.sa_flags = SA_RESTART;
	sigaction(soak_signal, &action, nullptr);
}

} /* namespace soak */
