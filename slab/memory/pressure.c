/* SPDX-License-Identifier: MIT */
#include "memory/pressure.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/maintenance.h"
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

/* Without privileges, windows must be multiples of two seconds. */
#define STALL_US 150000
#define WINDOW_US 2000000
#define STALL_PERCENT_100 (10000L * STALL_US / WINDOW_US) /* as PSI writes it: 7.50 */

#define PAUSE_MS 1000
#define START_MS 100
#define POLL_MS (WINDOW_US / 1000)
#define PART 16u /* of what is in use: the least that is requested */
#define TEXT_MAX 4096

enum { MACHINE, GROUP, EVENTS }; /* whose PSI, and memory.events */

_Static_assert(EVENTS + 1 == PRESSURE_FILES, "each has a tag");

static struct {
	const char *psi, *group; /* NULL: the system's */
} paths;

static bool wanted;   /* atomic: there is a cache to reclaim from */
static bool looking;  /* atomic: taken by the thread that reads the files, or reclaims */
static bool watching; /* atomic: the server does */

/* The server's; other threads may read whether it listens to them. */
static struct {
	struct descriptor descriptor;
	bool deaf; /* atomic */
} file[PRESSURE_FILES] = {
	{DESCRIPTOR_NONE, false}, {DESCRIPTOR_NONE, false}, {DESCRIPTOR_NONE, false}};
static uint64_t heard; /* µs: when one of them became deaf */

/* Under `looking`. */
static uint64_t relieved; /* µs: when it was over, 0: never */
static uint64_t seen_events, seen_total[2];
static bool events_seen, total_seen[2];

static bool begin_looking(void)
{
	return !__atomic_exchange_n(&looking, true, __ATOMIC_ACQUIRE);
}

static void end_looking(void)
{
	__atomic_store_n(&looking, false, __ATOMIC_RELEASE);
}

/* --- files -------------------------------------------------------------------------- */

static bool read_text(const char *path, char text[TEXT_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT_MAX - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The folder of the control group of version 2 that the process is in. */
static bool find_group(char *path, size_t size)
{
	char text[TEXT_MAX], *line;

	if (paths.group)
		return snprintf(path, size, "%s", paths.group) < (int)size;
	if (!read_text("/proc/self/cgroup", text))
		return false;
	line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
	if (!line)
		return false;
	line = strchr(line, ':') + 2;
	line[strcspn(line, "\n")] = '\0';
	return snprintf(path, size, "/sys/fs/cgroup%s", line) < (int)size;
}

static bool group_path(const char *name, char path[PATH_MAX])
{
	size_t len;

	if (!find_group(path, PATH_MAX))
		return false;
	len = strlen(path);
	return snprintf(path + len, PATH_MAX - len, "/%s", name) < (int)(PATH_MAX - len);
}

static bool psi_path(unsigned which, char path[PATH_MAX])
{
	if (which == GROUP)
		return group_path("memory.pressure", path);
	return snprintf(path, PATH_MAX, "%s", paths.psi ? paths.psi : "/proc/pressure/memory") <
	       PATH_MAX;
}

/* The number behind "name " or "name=" at the start of a word; false: there is none. */
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

/* Was the group held up since the last look? */
static bool events_show_pressure(void)
{
	char path[PATH_MAX], text[TEXT_MAX];
	uint64_t high = 0, max = 0, events;
	bool shows;

	if (!group_path("memory.events", path) || !read_text(path, text) ||
	    !number_of(text, "high", &high) || !number_of(text, "max", &max))
		return false;
	events = high + max;
	shows = events_seen && events > seen_events;
	events_seen = true;
	seen_events = events;
	return shows;
}

/* avg10 is high, and threads stood still since the last look: it sinks slowly. */
static bool psi_shows_pressure(unsigned which)
{
	char path[PATH_MAX], text[TEXT_MAX], *hundredths;
	uint64_t percent, total;
	bool shows;

	if (!psi_path(which, path) || !read_text(path, text) || strncmp(text, "some ", 5) != 0 ||
	    !number_of(text, "avg10", &percent) || !number_of(text, "total", &total))
		return false;
	hundredths = strstr(text, "avg10=");
	hundredths += strcspn(hundredths, ". ");
	percent *= 100;
	if (*hundredths == '.')
		percent += strtoull(hundredths + 1, NULL, 10);
	shows = total_seen[which] && total > seen_total[which] && percent >= STALL_PERCENT_100;
	total_seen[which] = true;
	seen_total[which] = total;
	return shows;
}

/* Bytes that the group has above memory.high. */
static size_t excess(void)
{
	char path[PATH_MAX], text[TEXT_MAX];
	uint64_t high, current;

	if (!group_path("memory.high", path) || !read_text(path, text) || *text < '0' ||
	    *text > '9') /* "max" */
		return 0;
	high = strtoull(text, NULL, 10);
	if (!group_path("memory.current", path) || !read_text(path, text))
		return 0;
	current = strtoull(text, NULL, 10);
	return current > high ? current - high : 0;
}

static void relieve(void)
{
	size_t bytes = excess(), part = __atomic_load_n(&slab_pages.account.used, __ATOMIC_RELAXED);

	if (relieved && clock_us() - relieved < PAUSE_MS * UINT64_C(1000))
		return;
	part /= PART;
	slab_reclaim(bytes > part ? bytes : part);
	relieved = clock_us();
}

long pressure_poll(void)
{
	bool shows;

	if (!__atomic_load_n(&wanted, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&watching, __ATOMIC_RELAXED))
		return -1;
	if (!begin_looking())
		return POLL_MS;
	/* Each has to be looked at. */
	shows = psi_shows_pressure(MACHINE);
	shows |= psi_shows_pressure(GROUP);
	shows |= events_show_pressure();
	if (shows)
		relieve();
	end_looking();
	return POLL_MS;
}

/* --- watching ---------------------------------------------------------------------------- */

static int open_psi(unsigned which)
{
	char path[PATH_MAX], trigger[64];
	int len = snprintf(trigger, sizeof(trigger), "some %d %d", STALL_US, WINDOW_US);
	int fd = psi_path(which, path) ? open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK) : -1;

	if (fd >= 0 && write(fd, trigger, (size_t)len + 1) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int open_events(void)
{
	char path[PATH_MAX];
	int fd = group_path("memory.events", path) ? inotify_init1(IN_NONBLOCK | IN_CLOEXEC) : -1;

	if (fd >= 0 && inotify_add_watch(fd, path, IN_MODIFY) < 0) {
		close(fd);
		return -1;
	}
	events_show_pressure(); /* what was before */
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
		descriptor_close(descriptor); /* it was opened just now */
}

static void begin_watching(const struct watch *watch, unsigned tag)
{
	if (!begin_looking())
		return;
	for (unsigned which = 0; which < PRESSURE_FILES; which++)
		open_file(watch, tag, which);
	end_looking();
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
	char events[TEXT_MAX];

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
		drop_file(watch, which); /* the group is gone, or the number is another's */
		return;
	}
	if (which == EVENTS)
		drain(file[which].descriptor.fd);
	if (!begin_looking())
		return;
	if (which == EVENTS)
		shows = events_show_pressure();
	if (shows)
		relieve();
	end_looking();
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

void pressure_after_fork_child(void)
{
	end_looking();
}

void pressure_set_paths(const char *psi, const char *group)
{
	while (!begin_looking())
		;
	paths.psi = psi;
	paths.group = group;
	relieved = 0;
	events_seen = total_seen[MACHINE] = total_seen[GROUP] = false;
	end_looking();
}
