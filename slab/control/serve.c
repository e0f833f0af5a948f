/* SPDX-License-Identifier: MIT */
/* What the serving thread does when descriptors are ready or the timer expires. */
#include "control/clients.h"

#include "base/clock.h"
#include "base/maintenance.h"
#include "base/own_work.h"
#include "core/count.h"
#include "debug/guard.h"
#include "memory/decay.h"
#include "memory/pressure.h"

#include <errno.h>
#include <slab/debug.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Call sample_tick() ten times a second, even if the timer expires more often. */
static void tick_sampling(void)
{
	static uint64_t last;
	uint64_t now = clock_us();

	if (now - last < TICK_US - TICK_US / 10)
		return;
	last = now;
	sample_tick();
}

static void tick_all(void)
{
	tick_sampling();
	count_tick();
	decay_tick(clock_us());
}

void control_tick_closed(void)
{
	static uint64_t poll_due;
	const uint64_t now = clock_us();

	if (!own_work_begin())
		return;
	tick_all();
	if (now >= poll_due) {
		poll_due = now + (uint64_t)pressure_poll_period() * 1000;
		pressure_poll();
	}
	own_work_end();
}

static void tick(void)
{
	uint64_t ticks;

	if (!watch_has(&control_server.watch, &control_server.timer) ||
	    read(control_server.timer.fd, &ticks, sizeof(ticks)) < 0)
		return;
	control_drop_idle();
	tick_all();
	pressure_tick(&control_server.watch, TAG_PRESSURE);
	control_server.period = PERIOD_UNKNOWN;
	control_update_timer();
}

static void answer_pressure(unsigned tag, uint32_t events)
{
	pressure_event(&control_server.watch, tag - TAG_PRESSURE, events);
	control_update_timer(); /* pressure_tick() must watch the file again later */
}

/* Returns the number of requests answered. */
static int serve_event(const struct epoll_event *event)
{
	unsigned tag = event->data.u32;

	if (tag < MAX_CLIENTS)
		return control_serve_client(&control_clients[tag]);
	if (tag == TAG_LISTENER)
		control_accept();
	else if (tag == TAG_TIMER)
		tick();
	else if (tag == WATCH_TAG)
		watch_answer(&control_server.watch);
	else
		answer_pressure(tag, event->events);
	return 0;
}

int control_serve(void)
{
	struct epoll_event events[16];
	int n, answered = 0;

	if (!control_is_open())
		return -EBADF;
	n = epoll_wait(control_server.watch.epoll.fd, events, 16, 0);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; i < n && own_work_begin(); i++) {
		answered += serve_event(&events[i]);
		own_work_end();
	}
	return answered;
}
