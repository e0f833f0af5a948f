/* SPDX-License-Identifier: MIT */
/*
 * The threads that allocate and free. A worker is a seat: a thread takes it, leaves it at its end
 * with the objects that it holds, and another thread goes on with these.
 */
#pragma once

#include "kinds.h"

namespace soak
{

constexpr unsigned workers_most = 192, held_most = 160, large_most = 2, board_places = 512;

struct worker {
	std::atomic<pid_t> tid{0};        /* of the thread; 0: none */
	std::atomic<bool> leave{false};   /* the thread shall end */
	std::atomic<std::uint64_t> done{0};    /* checked operations */
	std::atomic<std::uint64_t> in_handler{0}; /* those in signal handlers */
	pthread_t thread{};
	bool joinable = false;
	chance random;
	std::uint64_t stamps = 0; /* the last stamp */
	unsigned n = 0, large = 0;
	held objects[held_most];

	/* Begin as number `index` of a run with this seed. */
	void begin(unsigned index, std::uint64_t seed);

	/* Some operations of one kind. */
	void burst();

	/* Free everything. */
	void drop_all();

private:
	void count(unsigned operations)
	{
		done.store(done.load(std::memory_order_relaxed) + operations,
			   std::memory_order_relaxed);
	}

	void keep(unsigned kind, unsigned n);
	held give_up(unsigned index);
	void free_one();
	void free_same(unsigned kind);
	void pass_on();
	void step(unsigned kind);
	bool has_room(unsigned kind) const;
	void pairs(unsigned kind);
};

extern struct worker workers[workers_most];

/* How many threads work at a time, the others sleep. */
extern std::atomic<int> active_most;

/* The body of a thread; arg is its worker. */
void *work(void *arg);

/* Free what threads left for each other. */
void clear_board();

/* Signals allocate and free in the thread that they interrupt. */
void install_handler();
constexpr int soak_signal = 10; /* SIGUSR1 */

/* Children of the busy process. */

/* Fork: the child checks and frees the objects of `seat`, which the calling thread has, uses every
 * kind, validates caches, and ends. An error in it is an error here. */
void fork_child(struct worker *seat);

/* vfork: the child allocates and frees if the engine lets it, and ends. */
void vfork_child();

} /* namespace soak */
