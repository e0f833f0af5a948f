/* SPDX-License-Identifier: MIT */
/*
 * Memory pressure: how the files that pressure.h describes are found, read and watched.
 *
 * Either the server of the control socket watches the files (pressure_tick(),
 * pressure_event()), or slab_maintain() reads them (pressure_poll()). One thread
 * has its turn at a time.
 */
#include "memory/pressure.h"
#include "base/probe.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/descriptors.h"
#include "base/maintenance.h"
#include "memory/group.h"
#include "memory/turn.h"
#include "pages/account.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <slab/memory.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

/* Without privileges, the kernel accepts only windows that are multiples of two seconds. */
#define STALL_US 150000
#define WINDOW_US 2000000
#define STALL_PERCENT_100 (10000L * STALL_US / WINDOW_US) /* hundredths of a per cent: 7.50 */

#define PAUSE_MS 1000
#define START_MS 100
#define POLL_MS (WINDOW_US / 1000)
#define PART 16u /* the smallest reclaim goal: this fraction of the bytes in use */

enum { MACHINE, GROUP, EVENTS }; /* PSI of the machine, PSI of the group, memory.events */

_Static_assert(EVENTS + 1 == PRESSURE_FILES, "each has a tag");

static const char *psi_file; /* NULL: the system's */

static SLAB_EARLY bool wanted; /* atomic: a cache with args.reclaim exists */
static SLAB_EARLY bool watching; /* atomic: the server watches the files */

/* Used by the server's thread; other threads may read `deaf`. A file is deaf after it
 * reported pressure, until the server watches it again. */
static struct {
	struct descriptor descriptor;
	bool deaf; /* atomic */
} file[PRESSURE_FILES] = {
	{DESCRIPTOR_NONE, false}, {DESCRIPTOR_NONE, false}, {DESCRIPTOR_NONE, false}};
static uint64_t heard; /* µs: when a file last became deaf */

/* Written by the thread whose turn it is. */
static uint64_t relieved; /* µs: when the last reclaim ended; 0: there was none */
static uint64_t seen_events, seen_total[2];
static bool events_seen, total_seen[2];

/* Used by the thread whose turn it is. They are too large for the stack of a program's thread. */
static struct group_room room;

/* --- files -------------------------------------------------------------------------- */

static bool group_path(const char *name, char path[PATH_MAX])
{
	size_t len;

	if (!group_find(&room, path, PATH_MAX))
		return false;
	len = strlen(path);
	return snprintf(path + len, PATH_MAX - len, "/%s", name) < (int)(PATH_MAX - len);
}

static bool psi_path(unsigned which, char path[PATH_MAX])
{
	if (which == GROUP)
		return group_path("memory.pressure", path);
	return snprintf(path, PATH_MAX, "%s", psi_file ? psi_file : "/proc/pressure/memory") <
	       PATH_MAX;
}

/* Find "name " or "name=" at the start of a word, and read the number that follows. */
static bool number_of(const char *text, const char *name, uint64_t *ret_number)
{
	const size_t len = strlen(name);

	for (const char *at = text; (at = strstr(at, name)); at += len) {
		bool starts = at == text || at[-1] == '\n' || at[-1] == ' ';

		if (starts && (at[len] == ' ' || at[len] == '=')) {
			*ret_number = strtoull(at + len + 1, NULL, 10);
			return true;
		}
	}
	return false;
}

/* --- looking ------------------------------------------------------------------------ */

/* Was the group throttled, or at its limit, since the last call? */
static bool events_show_pressure(void)
{
	uint64_t high = 0, max = 0, events;
	bool shows;

	if (!group_path("memory.events", room.path) || !group_read_path(&room, room.path) ||
	    !number_of(room.text, "high", &high) || !number_of(room.text, "max", &max))
		return false;
	events = high + max;
	shows = events_seen && events > seen_events;
	events_seen = true;
	seen_events = events;
	return shows;
}

/* Is avg10 high, and were threads stalled since the last call? avg10 alone does not show this,
 * since it falls slowly after the pressure has ended. */
static bool psi_shows_pressure(unsigned which)
{
	char *hundredths;
	uint64_t percent, total;
	bool shows;

	if (!psi_path(which, room.path) || !group_read_path(&room, room.path) ||
	    strncmp(room.text, "some ", 5) != 0 || !number_of(room.text, "avg10", &percent) ||
	    !number_of(room.text, "total", &total))
		return false;
	hundredths = strstr(room.text, "avg10=");
	hundredths += strcspn(hundredths, ". ");
	percent *= 100;
	if (*hundredths == '.')
		percent += strtoull(hundredths + 1, NULL, 10);
	shows = total_seen[which] && total > seen_total[which] && percent >= STALL_PERCENT_100;
	total_seen[which] = true;
	seen_total[which] = total;
	return shows;
}

/* Bytes of the group in excess of memory.high. */
static size_t excess(void)
{
	uint64_t high, current;

	if (!group_path("memory.high", room.path) || !group_read_path(&room, room.path) ||
	    *room.text < '0' || *room.text > '9') /* "max" */
		return 0;
	high = strtoull(room.text, NULL, 10);
	if (!group_path("memory.current", room.path) || !group_read_path(&room, room.path))
		return 0;
	current = strtoull(room.text, NULL, 10);
	return current > high ? current - high : 0;
}

static void relieve(void)
{
	size_t bytes = excess(), part = __atomic_load_n(&slab_pages.account.used, __ATOMIC_RELAXED);

	if (relieved && clock_us() - relieved < PAUSE_MS * UINT64_C(1000))
		return;
	part /= PART;
	if (bytes < part)
		bytes = part;
	SLAB_PROBE(pressure, bytes);
	slab_reclaim(bytes);
	relieved = clock_us();
}

long pressure_poll(void)
{
	bool shows;

	if (!__atomic_load_n(&wanted, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&watching, __ATOMIC_RELAXED))
		return -1;
	if (!turn_take(TURN_PRESSURE))
		return POLL_MS;
	/* Read all files, without a short circuit: each call updates the last value of its file. */
	shows = psi_shows_pressure(MACHINE);
	shows |= psi_shows_pressure(GROUP);
	shows |= events_show_pressure();
	if (shows)
		relieve();
	turn_end(TURN_PRESSURE);
	return POLL_MS;
}

/* --- watching ---------------------------------------------------------------------------- */

static int open_psi(unsigned which)
{
	char trigger[64];
	int len = snprintf(trigger, sizeof(trigger), "some %d %d", STALL_US, WINDOW_US);
	int fd = psi_path(which, room.path) ? open(room.path, O_RDWR | O_CLOEXEC | O_NONBLOCK) : -1;

	if (fd >= 0 && write(fd, trigger, (size_t)len + 1) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int open_events(void)
{
	int fd = group_path("memory.events", room.path) ? inotify_init1(IN_NONBLOCK | IN_CLOEXEC)
							: -1;

	if (fd >= 0 && inotify_add_watch(fd, room.path, IN_MODIFY) < 0) {
		close(fd);
		return -1;
	}
	events_show_pressure(); /* events before now are not pressure */
	return fd;
}

static void set_deaf(unsigned which, bool deaf)
{
	__atomic_store_n(&file[which].deaf, deaf, __ATOMIC_RELAXED);
}

static bool is_deaf(unsigned which)
{
	return __atomic_load_n(&file[which].deaf, __ATOMIC_RELAXED);
}

static void drop_file(const struct watch *watch, unsigned which)
{
	watch_drop(watch, &file[which].descriptor);
	set_deaf(which, false);
}

static int listen_to(const struct watch *watch, unsigned tag, unsigned which, int operation)
{
	uint32_t events = (which == EVENTS ? EPOLLIN : EPOLLPRI) | EPOLLONESHOT;

	set_deaf(which, false);
	return watch_set(watch, operation, &file[which].descriptor, events, tag + which);
}

static void open_file(const struct watch *watch, unsigned tag, unsigned which)
{
	struct descriptor *descriptor = &file[which].descriptor;
	int fd = which == EVENTS ? open_events() : open_psi(which);

	if (descriptor_take(descriptor, fd, DESCRIPTORS_FROM) == 0 &&
	    listen_to(watch, tag, which, EPOLL_CTL_ADD) != 0)
		descriptor_close(descriptor); /* not registered with epoll, so no watch_drop() */
}

static void begin_watching(const struct watch *watch, unsigned tag)
{
	if (!turn_take(TURN_PRESSURE))
		return;
	for (unsigned which = 0; which < PRESSURE_FILES; which++)
		open_file(watch, tag, which);
	turn_end(TURN_PRESSURE);
	__atomic_store_n(&watching, true, __ATOMIC_RELAXED);
}

long pressure_period(void)
{
	if (!__atomic_load_n(&wanted, __ATOMIC_RELAXED))
		return 0;
	if (!__atomic_load_n(&watching, __ATOMIC_RELAXED))
		return START_MS;
	return is_deaf(MACHINE) || is_deaf(GROUP) || is_deaf(EVENTS) ? PAUSE_MS : 0;
}

long pressure_poll_period(void)
{
	return __atomic_load_n(&wanted, __ATOMIC_RELAXED) ? POLL_MS : 0;
}

void pressure_tick(const struct watch *watch, unsigned tag)
{
	int saved = errno;

	if (!__atomic_load_n(&wanted, __ATOMIC_RELAXED))
		return;
	if (!__atomic_load_n(&watching, __ATOMIC_RELAXED))
		begin_watching(watch, tag);
	else if (clock_us() - heard >= PAUSE_MS * UINT64_C(1000))
		for (unsigned which = 0; which < PRESSURE_FILES; which++)
			if (is_deaf(which) && listen_to(watch, tag, which, EPOLL_CTL_MOD) != 0)
				drop_file(watch, which);
	errno = saved;
}

static void drain(int fd)
{
	char events[512];

	for (unsigned tries = 0; tries < 16 && read(fd, events, sizeof(events)) > 0; tries++)
		;
}

void pressure_event(const struct watch *watch, unsigned which, uint32_t events)
{
	bool shows = true;

	if (which >= PRESSURE_FILES || file[which].descriptor.fd < 0)
		return;
	set_deaf(which, true);
	heard = clock_us();
	if (events & (EPOLLERR | EPOLLHUP) || !watch_has(watch, &file[which].descriptor)) {
		/* The group was removed, or the application reused the descriptor's number. */
		drop_file(watch, which);
		return;
	}
	if (which == EVENTS)
		drain(file[which].descriptor.fd);
	if (!turn_take(TURN_PRESSURE))
		return;
	if (which == EVENTS)
		shows = events_show_pressure();
	if (shows)
		relieve();
	turn_end(TURN_PRESSURE);
}

void pressure_close(const struct watch *watch)
{
	for (unsigned which = 0; which < PRESSURE_FILES; which++)
		drop_file(watch, which);
	__atomic_store_n(&watching, false, __ATOMIC_RELAXED);
}

void pressure_start(void)
{
	if (__atomic_exchange_n(&wanted, true, __ATOMIC_RELAXED))
		return;
	maintenance_start_ticks();
}

void pressure_set_paths(const char *psi, const char *group)
{
	while (!turn_take(TURN_PRESSURE))
		;
	psi_file = psi;
	group_set_directory(group);
	relieved = 0;
	events_seen = total_seen[MACHINE] = total_seen[GROUP] = false;
	turn_end(TURN_PRESSURE);
}
