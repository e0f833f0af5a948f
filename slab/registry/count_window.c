/* SPDX-License-Identifier: MIT */
/*
 * Opening and closing counting windows, and adding up what they counted.
 *
 * Two threads add up counts, both with registry_lock: the one that serves the control socket,
 * and one that destroys a cache. A window opens and closes under flush_lock, together with
 * GATE_COUNT (gate.h). The control thread only tries that lock. If a flush holds it, the window
 * opens or closes later, and counts for as long as it really was open.
 *
 * Ticks come in pairs: one opens the windows of busy caches, the next one closes them. The pause
 * after a pair grows with the number of counted allocations. So counting never costs more than
 * its share, even if a busy machine delays the ticks.
 */
#include "registry/count_window.h"
#include "base/clock.h"
#include "core/cache.h"
#include "registry/gate.h"
#include "registry/registry.h"

#include <pthread.h>
#include <slab/stats.h>
#include <sys/resource.h>

/* The most allocations per microsecond to count: in all quiet caches, and in all busy ones.
 * Counting one costs some 4 ns, so both take a fiftieth of a CPU at most. */
#define QUIET_SHARE 3.0
#define BUSY_SHARE 2.0

#define SECOND_US 1e6
#define WINDOW_US_MIN 200.0
#define WINDOW_US_MAX 5000.0
#define PERIOD_US 15000.0 /* time between windows, if they are longer than WINDOW_US_MIN */
#define PAUSE_US_MIN 5000.0
#define USUAL_WINDOWS 8 /* number of windows in the mean of counting.usual */
#define QUIET_PERIOD_US 20000l
#define WORK_SHARE 100 /* ticks take a hundredth of the time at most */

/* For find_contention(): */
#define PREEMPTED_MAX 40 /* per second of CPU time */
#define TICKS_PREEMPT 2
#define FORGET 0.95

static struct {
	long period;      /* atomic (count_period()); registry_lock protects the others */
	uint64_t until;   /* when the last request for counting ends */
	uint64_t due;     /* when the next tick is due */
	uint64_t opened;  /* when the windows of busy caches opened; 0: they are closed */
	struct count_cost cost;
	void (*measure)(struct count_cost *cost);
	uint64_t cost_found;
	/* In allocations per microsecond: above quiet_max a cache is busy. Above large_min it is
	 * one of the caches that share half of QUIET_SHARE. */
	double quiet_max, large_min;
	double usual;     /* mean number of counted allocations in a window, of all busy caches */
	/* Sums of the present pass over all caches: */
	uint64_t taken;
	bool contended; /* see find_contention() */
	unsigned active, large;
	double busy; /* allocations per microsecond of busy caches */
} counting = {.cost = {.us = 0.004, .share_max = 0.5}};

bool count_is_open(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->count.opened, __ATOMIC_RELAXED) != 0;
}

long count_period(void)
{
	return __atomic_load_n(&counting.period, __ATOMIC_RELAXED);
}

static void set_period(double us)
{
	__atomic_store_n(&counting.period, us < 1 ? 1 : (long)us, __ATOMIC_RELAXED);
}

static void set_no_period(void)
{
	__atomic_store_n(&counting.period, 0, __ATOMIC_RELAXED);
}

/* --- what was counted --------------------------------------------------------------- */

static uint64_t slow_of(const struct slab_cache *cache)
{
	uint64_t sum = 0;

	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
		sum += __atomic_load_n(
			&cpu_slot(cache->cpu_slots, cpu)->event[SLAB_EVENT_ALLOC_SLOWPATH],
			__ATOMIC_RELAXED);
	return sum;
}

/* What a CPU has counted since the last call. The function stores only to slots of CPUs on which
 * a thread ran; other slots would take memory. */
static uint32_t take_counted(struct cpu_slot *slot)
{
	uint32_t counted = __atomic_load_n(&slot->counted, __ATOMIC_RELAXED);
	uint32_t n = counted - __atomic_load_n(&slot->counted_before, __ATOMIC_RELAXED);

	if (n)
		__atomic_store_n(&slot->counted_before, counted, __ATOMIC_RELAXED);
	return n;
}

/* The number of allocations in a window of `us`, corrected for the time that counting itself
 * took. */
static double take_light(struct slab_cache *cache, double us)
{
	double sum = 0;

	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		uint32_t n = take_counted(cpu_slot(cache->cpu_slots, cpu));
		double cost = n * counting.cost.us / us;

		counting.taken += n;
		if (cost > counting.cost.share_max)
			cost = counting.cost.share_max;
		sum += n / (1 - cost);
	}
	return sum;
}

static void set_mean(struct count *count, double rate, double us)
{
	double weight = us / SECOND_US;

	count->mean += (rate - count->mean) * (weight < 1 ? weight : 1);
	if (count->mean > counting.quiet_max)
		count->busy = true;
	else if (count->mean < counting.quiet_max / 2)
		count->busy = false;
}

static void add(struct count *count, double n, double us, double variance)
{
	uint64_t whole;

	count->rest += n;
	whole = count->rest > 0 ? (uint64_t)count->rest : 0;
	count->rest -= (double)whole;
	__atomic_fetch_add(&count->counted, whole, __ATOMIC_RELAXED);
	__atomic_fetch_add(&count->counted_us, (uint64_t)us, __ATOMIC_RELAXED);
	__atomic_fetch_add(&count->counted_variance, (uint64_t)variance + (variance > 0),
			   __ATOMIC_RELAXED);
}

/* Events may have been reset, so the sum may have become smaller. */
static uint64_t take_slow(struct slab_cache *cache)
{
	uint64_t slow = slow_of(cache), before = cache->count.slow;

	cache->count.slow = slow;
	return slow > before ? slow - before : 0;
}

/* Add up everything since the last call. The cache's window is open. */
static void add_up(struct slab_cache *cache)
{
	struct count *count = &cache->count;
	uint64_t now = clock_us();
	double us = (double)(now - count->opened), gap = (double)(count->opened - count->last);
	double n, rate, between;
	uint64_t slow;

	if (now <= count->opened)
		return;
	n = take_light(cache, us);
	rate = n / us;
	between = gap * (rate + count->rate) / 2;
	slow = take_slow(cache);
	if (!(count->busy && counting.contended))
		add(count, (double)slow + n + between, us + gap,
		    gap * gap * (rate - count->rate) * (rate - count->rate) / 2);
	count->rate = rate;
	count->last = now;
	__atomic_store_n(&count->opened, now, __ATOMIC_RELAXED);
	set_mean(count, (n + between) / (us + gap), us + gap);
}

/* --- windows ---------------------------------------------------------------------------- */

static void open_window(struct slab_cache *cache)
{
	struct count *count = &cache->count;

	if (pthread_mutex_trylock(&cache->flush_lock) != 0)
		return;
	__atomic_store_n(&count->opened, clock_us(), __ATOMIC_RELAXED);
	cache_gate_set(cache, GATE_COUNT, true);
	pthread_mutex_unlock(&cache->flush_lock);
	/* Discard what was counted before the window opened. */
	take_light(cache, 1);
	__atomic_store_n(&count->opened, clock_us(), __ATOMIC_RELAXED);
	if (count->last)
		return;
	count->last = count->opened;
	count->rate = count->mean = 0;
	count->busy = false;
	take_slow(cache);
}

/* The caller holds flush_lock. */
static void close_locked(struct slab_cache *cache)
{
	__atomic_store_n(&cache->count.opened, 0, __ATOMIC_RELAXED);
	cache_gate_set(cache, GATE_COUNT, false);
}

static void close_window(struct slab_cache *cache)
{
	if (pthread_mutex_trylock(&cache->flush_lock) != 0)
		return;
	close_locked(cache);
	pthread_mutex_unlock(&cache->flush_lock);
}

void count_close(struct slab_cache *cache)
{
	if (!count_is_open(cache))
		return;
	pthread_mutex_lock(&cache->flush_lock);
	add_up(cache);
	close_locked(cache);
	pthread_mutex_unlock(&cache->flush_lock);
	cache->count.last = 0;
}

/* --- ticks ---------------------------------------------------------------------------------- */

/* Add up quiet caches. Afterwards all windows are open. */
static void open_some(struct slab_cache *cache)
{
	struct count *count = &cache->count;

	if (count_is_open(cache))
		add_up(cache);
	counting.active += count->mean > 0;
	counting.large += count->mean > counting.large_min && count->mean <= QUIET_SHARE / 2;
	counting.busy += count->busy ? count->mean : 0;
	if (!count_is_open(cache))
		open_window(cache);
}

static void close_busy(struct slab_cache *cache)
{
	if (!cache->count.busy || !count_is_open(cache))
		return;
	add_up(cache);
	if (cache->count.busy)
		close_window(cache);
}

/* A window that cannot be closed now is closed by a later tick. */
static void end(struct slab_cache *cache)
{
	if (count_is_open(cache)) {
		add_up(cache);
		close_window(cache);
		counting.active += count_is_open(cache);
	}
	cache->count.last = 0;
}

static void each_cache(void (*fn)(struct slab_cache *cache))
{
	counting.active = counting.large = 0;
	counting.busy = 0;
	for (struct slab_cache *cache = registry_first; cache; cache = cache->next)
		fn(cache);
}

/* Half to one and a half times `us`, so that windows neither always meet nor always miss what
 * the program does at regular times. */
static double at_random(double us)
{
	static uint64_t state;

	state = (state + clock_us()) * UINT64_C(6364136223846793005) + 1;
	return us * (0.5 + (double)(state >> 48) / 65536);
}

static double cpu_seconds(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / SECOND_US;
}

/* The fraction of time in which all busy caches may be counted. */
static double busy_share(void)
{
	return counting.busy > BUSY_SHARE ? BUSY_SHARE / counting.busy : 1;
}

/*
 * Find out whether threads of this program wait for CPUs. A window is not a fair sample then: it
 * begins when the scheduler has just run this thread, which influences the thread that runs
 * next. The sign is that threads are often preempted after a short time. While there is
 * contention, busy caches are not added up.
 */
static void find_contention(void)
{
	static double preempted, seconds;
	static struct rusage last;
	struct rusage now;

	getrusage(RUSAGE_SELF, &now);
	preempted *= FORGET;
	seconds *= FORGET;
	if (now.ru_nivcsw - last.ru_nivcsw > TICKS_PREEMPT)
		preempted += (double)(now.ru_nivcsw - last.ru_nivcsw - TICKS_PREEMPT);
	seconds += cpu_seconds(&now) - cpu_seconds(&last);
	last = now;
	counting.contended = preempted > PREEMPTED_MAX * seconds + 1;
}

/* Measure the cost again each second, because it changes with what else the core does. */
static void find_cost(uint64_t now)
{
	if (now - counting.cost_found < SECOND_US)
		return;
	counting.cost_found = now;
	counting.measure(&counting.cost);
}

/* Caches that need little of QUIET_SHARE get one half of it, and the others get the other
 * half. */
static void share_quiet(void)
{
	counting.quiet_max = QUIET_SHARE / 2 / (counting.large ? counting.large : 1);
	counting.large_min = QUIET_SHARE / 2 / (counting.active ? counting.active : 1);
}

static void tick_open(void)
{
	double us;

	find_contention();
	find_cost(clock_us());
	each_cache(open_some);
	share_quiet();
	if (counting.busy <= 0) {
		set_period(QUIET_PERIOD_US);
		return;
	}
	us = busy_share() * PERIOD_US;
	us = us < WINDOW_US_MIN ? WINDOW_US_MIN : us > WINDOW_US_MAX ? WINDOW_US_MAX : us;
	counting.opened = clock_us();
	set_period(us);
}

static void tick_close(void)
{
	double us;

	counting.opened = 0;
	counting.taken = 0;
	each_cache(close_busy);
	counting.usual += ((double)counting.taken - counting.usual) / USUAL_WINDOWS;
	us = counting.usual / BUSY_SHARE;
	set_period(at_random(us < PAUSE_US_MIN ? PAUSE_US_MIN : us));
}

static void tick_end(void)
{
	each_cache(end);
	counting.opened = 0;
	if (counting.active)
		return;
	counting.until = 0;
	set_no_period();
}

static void tick(uint64_t now)
{
	bool opens = !counting.opened;
	double least;

	if (now >= counting.until)
		tick_end();
	else if (opens)
		tick_open();
	else
		tick_close();
	least = (double)(clock_us() - now) * WORK_SHARE;
	if (!counting.opened && count_period() && (double)count_period() < least)
		set_period(least);
	counting.due = clock_us() + (uint64_t)count_period();
}

void count_tick(void)
{
	uint64_t now = clock_us();

	if (!count_period() || now < counting.due)
		return;
	pthread_mutex_lock(&registry_lock);
	tick(now);
	pthread_mutex_unlock(&registry_lock);
}

void count_start(uint64_t us, void (*measure)(struct count_cost *cost))
{
	uint64_t now = clock_us();

	pthread_mutex_lock(&registry_lock);
	counting.measure = measure;
	if (counting.until < now + us)
		counting.until = now + us;
	if (!count_period()) {
		counting.quiet_max = QUIET_SHARE / 2;
		counting.large_min = 0;
		counting.opened = 0;
		tick(now);
	}
	pthread_mutex_unlock(&registry_lock);
}

void count_after_fork_child(void)
{
	counting.until = 0;
	set_no_period();
	for (struct slab_cache *cache = registry_first; cache; cache = cache->next)
		if (count_is_open(cache)) {
			close_locked(cache);
			cache->count.last = 0;
		}
}
