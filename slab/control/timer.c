/* SPDX-License-Identifier: MIT */
/*
 * The state of the control server, and its timer. The period of the timer is the shortest one that
 * clients, decay, memory pressure, counting and sampling need. If none of them needs ticks, the
 * timer is off.
 */
#include "base/clock.h"
#include "control/clients.h"
#include "core/count.h"
#include "debug/guard.h"
#include "memory/decay.h"
#include "memory/pressure.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct control_server control_server = {
	.watch = WATCH_NONE,
	.listener = DESCRIPTOR_NONE,
	.timer = DESCRIPTOR_NONE,
};
struct client control_clients[MAX_CLIENTS];

atomic_int control_state;
atomic_bool control_main_thread_gone;
uint32_t control_wakes;

uint64_t control_now(void)
{
	return clock_us() / 1000;
}

/* The thread waits for far_end of the watch, or without descriptors on control_wakes. */
static void wake_server(void)
{
	watch_wake(&control_server.watch);
	__atomic_fetch_add(&control_wakes, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &control_wakes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Set the timer. Any thread may call this. If the timer's descriptor was closed, wake the server,
 * which then opens its descriptors again. */
static void set_timer(long us)
{
	const struct timespec period = {.tv_sec = us / SECOND_US, .tv_nsec = us % SECOND_US * 1000};
	struct itimerspec spec = {.it_interval = period, .it_value = period};

	if (watch_has(&control_server.watch, &control_server.timer))
		timerfd_settime(descriptor_number(&control_server.timer), 0, &spec, NULL);
	else
		wake_server();
}

/* The shorter of two periods, where 0 means off. */
static long shorter(long a, long b)
{
	return a && (a < b || !b) ? a : b;
}

long control_common_period(void)
{
	const bool closed = descriptor_number(&control_server.watch.epoll) < 0;
	const long pressure = closed ? pressure_poll_period() : pressure_period();
	long period = shorter(decay_wait(), pressure) * 1000;

	period = shorter(period, count_period());
	if (sample_wants_ticks())
		period = shorter(period, TICK_US);
	if (atomic_load(&control_main_thread_gone) && atomic_load(&control_state) == THREAD)
		period = shorter(period, SECOND_US);
	return period;
}

static long wanted_period(void)
{
	long period = control_common_period();

	if (control_server.muted)
		period = shorter(period, TICK_US);
	return control_server.clients ? shorter(period, SECOND_US) : period;
}

/*
 * Another thread may need a shorter period (control_start_timer()) after this thread has computed
 * one. So this thread computes the period again after it has set the timer. It does not set the
 * timer if the period is the same: otherwise frequent clients would keep the timer from expiring.
 * (decay_wait() decreases all the time, so setting the timer for it does no harm.)
 */
void control_update_timer(void)
{
	long period;

	while ((period = wanted_period()) != control_server.period) {
		control_server.period = period;
		set_timer(period);
	}
}

void control_start_timer(void)
{
	enum control_state served = atomic_load(&control_state);
	long period = control_common_period();

	if (period && (served == THREAD || served == LOOP))
		set_timer(period);
}
