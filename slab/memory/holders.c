/* SPDX-License-Identifier: MIT */
/*
 * The report of an allocation that fails for lack of memory.
 *
 * It uses counters only, and looks at no slab. They have the allocated objects of all slabs, and
 * the free ones of slabs without debug flags. Threads with small stacks allocate, so all that is
 * large is static; one thread at a time uses it.
 */
#include "memory/holders.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/fail.h"
#include "core/registry.h"
#include "core/shard.h"
#include "memory/turn.h"
#include "pages/topology.h"
#include "percpu/closing.h"
#include "report/profile.h"
#include "report/report.h"
#include "report/symbol.h"

#define MINUTE UINT64_C(60000000) /* µs */
#define HOLDERS 10u
#define IMPOSSIBLE ((size_t)1 << 40) /* a mistake of the program, such as -1 */
#define FRAMES 3u
#define LOAD(member) __atomic_load_n(&(member), __ATOMIC_RELAXED)
#define KIB(bytes) ((unsigned long)((bytes) >> 10))

/* A cache, or a site of the heap profile. */
struct holder {
	uint64_t bytes, objects, free, noted;
	uint32_t stack;
	char name[SLAB_MAX_NAME + 1];
};

/* Of the thread whose turn it is. */
static struct {
	struct report report;
	struct holder largest[HOLDERS];
	char frame[1][SYMBOL_TEXT];
} work;

uint64_t holders_reported;

/* --- notes --------------------------------------------------------------------------------- */

/* When the bytes of caches were noted, in µs: the last two times in turn. `notes` is their number.
 * Atomic. Only a decay pass writes them. */
static uint64_t noted_at[2], notes;

SLAB_SLOWPATH void holders_note(void)
{
	const uint64_t now = clock_us(), n = LOAD(notes);
	struct slab_cache *cache;
	struct pin pin = {0};

	if (n && now - LOAD(noted_at[(n - 1) % 2]) < MINUTE)
		return;
	while ((cache = registry_next_pinned(&pin)))
		__atomic_store_n(&cache->activity.noted[n % 2], LOAD(cache->account.used),
				 __ATOMIC_RELAXED);
	__atomic_store_n(&noted_at[n % 2], now, __ATOMIC_RELAXED);
	__atomic_store_n(&notes, n + 1, __ATOMIC_RELEASE);
}

/* The older note, which is a minute old at least, or the only one. Notes must exist. */
static unsigned note_number(void)
{
	const uint64_t n = __atomic_load_n(&notes, __ATOMIC_ACQUIRE);

	return n > 1 ? n % 2 : 0;
}

/* --- the largest --------------------------------------------------------------------------- */

/* A place for a holder of this many bytes; NULL: others are larger. */
static struct holder *place(uint64_t bytes)
{
	struct holder *largest = work.largest;
	unsigned i = HOLDERS;

	while (i && largest[i - 1].bytes < bytes)
		i--;
	if (i == HOLDERS)
		return NULL;
	memmove(&largest[i + 1], &largest[i], (HOLDERS - 1 - i) * sizeof(*largest));
	largest[i] = (struct holder){.bytes = bytes};
	return &largest[i];
}

static void describe_cache(struct holder *to, const struct slab_cache *cache)
{
	const uint64_t held =
		arrays_objects(cache) + magazines_objects(cache) + LOAD(cache->memory.reserve_left);
	uint64_t used = 0, room = 0, ordinary;
	int64_t debug_used = 0;
	struct shard_sums sums;

	for (unsigned node = 0; node < topology_nodes(); node++) {
		node_sums(cache, node, &sums);
		used += sums.used;
		room += sums.room;
		debug_used += LOAD(cache->node[node].debug_used);
	}
	ordinary = used > held ? used - held : 0;
	to->free = room > ordinary ? (room - ordinary) * cache->size : 0;
	if (debug_used > 0) /* less: a damaged slab was corrected */
		used += (uint64_t)debug_used;
	to->objects = used > held ? used - held : 0;
	to->noted = LOAD(cache->activity.noted[note_number()]);
	memcpy(to->name, cache->name, sizeof(to->name));
}

static void find_caches(void)
{
	struct slab_cache *cache;
	struct pin pin = {0};

	while ((cache = registry_next_pinned(&pin))) {
		struct holder *to = place(LOAD(cache->account.used));

		if (to)
			describe_cache(to, cache);
	}
}

/* The bytes that a sample stands for: size / (1 - exp(-size / period)), to a thousandth. */
static double bytes_of_sample(double size, double period)
{
	const double x = size / period / 8;
	double e = 1 + x * (1 + x / 2 * (1 + x / 3));

	e *= e;
	e *= e;
	e *= e;
	return size / (1 - 1 / e);
}

static void add_site(const struct profile_site *site)
{
	const uint64_t period = __atomic_load_n(&site->period, __ATOMIC_ACQUIRE);
	const int64_t live = (int64_t)(LOAD(site->allocated) - LOAD(site->freed));
	struct holder *to;

	if (!period || live <= 0)
		return;
	to = place((uint64_t)(int64_t)((double)live * bytes_of_sample((double)(int64_t)site->size,
								      (double)(int64_t)period)));
	if (!to)
		return;
	to->objects = to->bytes / site->size;
	to->stack = site->stack;
}

static void find_sites(void)
{
	const uint32_t count = LOAD(heap_profile.count);

	for (uint32_t i = 1; i <= count && i < PROFILE_SITES_MAX; i++)
		add_site(&heap_profile.sites[i]);
}

/* --- text ----------------------------------------------------------------------------------- */

static void put_title(const struct slab_cache *cache, size_t bytes, enum alloc_failure why,
		      size_t limit)
{
	static const char *const whose[] = {
		[ALLOC_FAILURE_CACHE] = "its limit is",
		[ALLOC_FAILURE_PROCESS] = "the limit of the process is",
		[ALLOC_FAILURE_SYSTEM] = "the system refuses",
	};

	report_title(&work.report, "No memory for %s: %s %zu bytes",
		     cache ? cache->name : "a large allocation", whose[why],
		     why == ALLOC_FAILURE_SYSTEM ? bytes : limit);
}

static void put_process(void)
{
	const uint64_t used = account_used(), large = LOAD(slab_pages.large_bytes);

	report_line(
		&work.report,
		"%lu KiB in slabs, %lu of large allocations, %lu in free slabs, %lu in own tables",
		KIB(used > large ? used - large : 0), KIB(large),
		KIB(LOAD(slab_pages.free_slab_bytes)),
		KIB(LOAD(slab_pages.metadata_bytes) +
		    cpu_area_bytes(LOAD(cpu_area_count), cpu_possible())));
}

/* A column, if the growth is known. */
static void put_cache(const struct holder *from, bool noted)
{
	char growth[24] = "";

	if (noted)
		snprintf(growth, sizeof(growth), "%+10ld",
			 (long)(from->bytes - from->noted) / 1024);
	report_line(&work.report, "%10lu %10lu%s %10lu  %s", KIB(from->bytes), KIB(from->free),
		    growth, (unsigned long)from->objects, from->name);
}

static void put_caches(void)
{
	const bool noted = LOAD(notes);

	report_line(&work.report, "%s",
		    noted ? "       KiB       free     growth    objects  cache"
			  : "       KiB       free    objects  cache");
	for (unsigned i = 0; i < HOLDERS && work.largest[i].bytes; i++)
		put_cache(&work.largest[i], noted);
	if (noted)
		report_line(
			&work.report, "The growth is that of %lu seconds.",
			(unsigned long)((clock_us() - LOAD(noted_at[note_number()])) / 1000000));
}

static void put_site(const struct holder *from)
{
	const void *const *frames;
	unsigned n = depot_load(from->stack, &frames);

	report_line(&work.report, "%10lu %10lu", KIB(from->bytes), (unsigned long)from->objects);
	for (unsigned i = 0; i < n && i < FRAMES; i++) {
		symbolize(1, &frames[i], work.frame);
		report_line(&work.report, "\t%s", work.frame[0]);
	}
}

static void put_sites(void)
{
	report_line(&work.report, "%s", "\n       KiB    objects  allocated in");
	for (unsigned i = 0; i < HOLDERS && work.largest[i].bytes; i++)
		put_site(&work.largest[i]);
}

static void put_text(const struct slab_cache *cache, size_t bytes, enum alloc_failure why,
		     size_t limit)
{
	put_title(cache, bytes, why, limit);
	put_process();
	memset(work.largest, 0, sizeof(work.largest));
	find_caches();
	put_caches();
	memset(work.largest, 0, sizeof(work.largest));
	if (profile_is_on())
		find_sites();
	if (work.largest[0].bytes)
		put_sites();
}

/* --- one at a time --------------------------------------------------------------------------- */

static bool begin(void)
{
	const uint64_t now = clock_us();
	uint64_t last = LOAD(holders_reported);

	if ((last && now - last < MINUTE) ||
	    !__atomic_compare_exchange_n(&holders_reported, &last, now, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return false;
	return turn_take(TURN_HOLDERS);
}

SLAB_SLOWPATH const char *holders_report(const struct slab_cache *cache, size_t bytes,
					 enum alloc_failure why, size_t limit)
{
	if (why == ALLOC_FAILURE_NONE || bytes >= IMPOSSIBLE ||
	    (why == ALLOC_FAILURE_SYSTEM && fail_concerns_pages()) || !begin())
		return NULL;
	put_text(cache, bytes, why, limit);
	report_write(&work.report);
	return work.report.text;
}

void holders_done(void)
{
	turn_end(TURN_HOLDERS);
}
