/* SPDX-License-Identifier: MIT */
/* The threads that disturb the others: each makes one disturbance after another, in random
 * order. */
#pragma once

#include "worker.h"

namespace soak
{

constexpr unsigned conductors_most = 4;

struct conductor {
	pthread_t thread{};
	chance random;
	struct worker seat; /* for the objects of its children */
	unsigned created = 0; /* caches, for their names */
	unsigned number = 0;

	void begin(unsigned index, std::uint64_t seed);
	void disturb();
};

extern struct conductor conductors[conductors_most];
extern std::atomic<bool> conductors_leave;

void *conduct(void *arg);

/* --- disturbances ----------------------------------------------------------------------------- */

struct disturbance {
	const char *name;
	unsigned weight; /* how often it is made */
	void (*make)(struct conductor *conductor);
	std::atomic<unsigned long> made{0};

	disturbance(const char *its_name, unsigned its_weight, void (*how)(struct conductor *))
		: name(its_name), weight(its_weight), make(how)
	{
	}
};

extern struct disturbance disturbances[];
extern const unsigned disturbances_count;

unsigned long disturbances_made();

/* Injection points that a thread was held up at, of those in C; *ret_all: how many there are. */
unsigned points_passed(unsigned *ret_all);

/* Print how often each disturbance was made, and the points that no thread was held up at. */
void print_disturbances();

/* --- the roster: which workers have a thread -------------------------------------------------- */

/* Let `count` workers begin. */
void fill_roster(unsigned count);

/* Join all threads; the workers keep their objects. */
void empty_roster();

void cancel_one(chance &random);
void retire_one(chance &random);
void renew_ended(); /* a new thread for each worker whose thread has ended */
pid_t some_thread(chance &random);

} /* namespace soak */
