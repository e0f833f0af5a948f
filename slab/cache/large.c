/* SPDX-License-Identifier: MIT */
/*
 * Large allocations, directly from the page layer.
 *
 * Up to LARGE_SLAB_MAX bytes, an allocation is a slab with one object, so its memory is reused
 * without a system call. Pages are not populated before the program touches them; `populated` of
 * such a slab is the range that its objects may have touched. A larger allocation is a separate
 * mapping behind a segment's head, which is unmapped when it is freed. Both have a descriptor with
 * `large` set.
 *
 * A slab may be twice as large as its object. Accounts count only the pages of the object, since
 * no others are touched. But a slab that held a larger object before has a *tail*: populated pages
 * beyond its object, which the next object may need again. Short tails stay. Of the long ones, the
 * newest TAILS_MAX bytes stay, since they belong to objects with short lifetimes; older ones are
 * returned to the OS. If the system always uses huge pages, a whole slab has them, and a tail
 * stays if cutting it would break up a huge page that is mostly in use.
 *
 * Memory that is fresh from the OS is zero: a new mapping, and the pages of a slab beyond
 * `populated`. large_calloc() clears only the rest.
 */
#include "cache/large.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/maintenance.h"
#include "base/probe.h"
#include "debug/bug_info.h"
#include "debug/debug_cache.h"
#include "memory/decay.h"
#include "memory/soft.h"
#include "memory/reclaim.h"
#include "pages/account.h"
#include "pages/os.h"
#include "pages/free_slabs.h"
#include "pages/topology.h"
#include "core/init.h"
#include "core/queue.h"
#include "report/annotate.h"

#include <errno.h>
#include <slab/debug.h>
#include <string.h>

/* A segment has room for one slab of this size. */
#define LARGE_SLAB_MAX ((size_t)1 << LARGE_SHIFT_MAX)
/* An allocation that realloc() has made larger than growing_from gets a mapping of its own: it may
 * grow again, and a slab of twice the size would mean a copy each time. But a mapping takes page
 * faults for all its memory. If one is freed that a slab had room for, others of its size will not
 * grow beyond slabs either, and from then on take slabs, whose pages are reused. */
static SLAB_EARLY size_t growing_from = (size_t)2 << 20;
/* No process has so many addresses, whatever memory others release. */
#define ADDRESSES ((size_t)1 << 48)
/* A tail is long if it is more than 1/TAIL_PART of its slab. */
#define TAIL_PART 8u
/* The most bytes of long tails that are kept. */
#define TAILS_MAX ((uint64_t)4 << 20)

/* Slabs in use with long tails, newest first: under segment_lock(). */
static struct slab_queue tails;
static uint64_t tail_bytes;
/* The slab whose tail a thread is cutting, which means returning it to the OS. Until that is
 * done, the slab may neither be released nor get a larger object. */
static struct {
	struct slab *slab;
	bool freed; /* its object was freed: the cutting thread releases the slab */
} cutting;

static unsigned shift_for(size_t size)
{
	unsigned shift = slab_least_shift();

	while (((size_t)1 << shift) < size)
		shift++;
	return shift;
}

/* The bytes of the slab's tail if it holds an object of this size; 0: the tail is not long. */
static size_t long_tail(const struct slab *slab, size_t size)
{
	size_t tail = __atomic_load_n(&slab->populated, __ATOMIC_ACQUIRE) - os_pages(size);

	return tail > slab_bytes(slab) / TAIL_PART ? tail : 0;
}

/* Under segment_lock(): choose the slab with the oldest tail and take it off the queue. false: no
 * tail has to be cut, another thread is cutting, or the slab's object is being freed. */
static bool begin_cut(size_t *ret_size, size_t *ret_tail)
{
	struct slab *slab = tails.last;

	if (tail_bytes <= TAILS_MAX || cutting.slab)
		return false;
	*ret_size = os_pages(__atomic_load_n(&slab->large, __ATOMIC_RELAXED));
	if (!*ret_size)
		return false;
	*ret_tail = slab->populated - *ret_size;
	queue_remove(&tails, slab);
	tail_bytes -= *ret_tail;
	cutting.slab = slab;
	cutting.freed = false;
	return true;
}

/* Under segment_lock(): end the cut. Returns the slab if its object was freed in the meantime, so
 * that the caller releases it; otherwise NULL. */
static struct slab *end_cut(size_t size, size_t tail, bool done)
{
	struct slab *slab = cutting.slab;

	if (done) {
		__atomic_store_n(&slab->populated, (uint32_t)size, __ATOMIC_RELEASE);
	} else if (!cutting.freed) {
		queue_add_tail(&tails, slab);
		tail_bytes += tail;
	}
	cutting.slab = NULL;
	return cutting.freed ? slab : NULL;
}

/* Return one tail to the OS, with no lock held; false: none was returned. */
static bool cut_one(void)
{
	struct slab *slab, *freed;
	size_t size, tail;
	bool done;

	segment_lock();
	done = begin_cut(&size, &tail);
	slab = cutting.slab;
	segment_unlock();
	if (!done)
		return false;
	done = decay_may_discard(slab) && segment_discard_part(slab->base + size, tail);
	segment_lock();
	freed = end_cut(size, tail, done);
	segment_unlock();
	if (freed)
		segment_free_slab(freed);
	return done;
}

/* Prepare a slab for an object of this size: queue a long tail. The program populates the pages
 * that it touches. */
static void fit(struct slab *slab, size_t size)
{
	size_t tail;

	__atomic_store_n(&slab->large, size, __ATOMIC_RELEASE);
	if (__atomic_load_n(&slab->populated, __ATOMIC_RELAXED) < os_pages(size))
		__atomic_store_n(&slab->populated, (uint32_t)os_pages(size), __ATOMIC_RELAXED);
	tail = long_tail(slab, size);
	if (!tail)
		return;
	segment_lock();
	queue_add_head(&tails, slab);
	tail_bytes += tail;
	segment_unlock();
	while (cut_one())
		;
}

/* The slab's object, of this size, is freed or changes its size: take its tail off the queue.
 * false: a thread is cutting the tail. With `frees`, that thread then releases the slab. */
static bool unfit(struct slab *slab, size_t size, bool frees)
{
	bool is_cut;
	size_t tail;

	/* A slab without a long tail is not queued, and no thread is cutting it. */
	if (!long_tail(slab, size))
		return true;
	segment_lock();
	is_cut = cutting.slab == slab;
	tail = is_cut ? 0 : long_tail(slab, size);
	if (tail)
		queue_remove(&tails, slab);
	tail_bytes -= tail;
	cutting.freed |= is_cut && frees;
	segment_unlock();
	return !is_cut;
}

struct large_request {
	size_t size, align;
	bool zeroed;
	bool grows; /* it gets a mapping, which can grow without a copy, or else a slab */
	size_t red; /* bytes of red zone behind the allocation */
	size_t used; /* result: bytes from the start that a former object may have written */
};

static struct slab *take_slab(struct large_request *request)
{
	const size_t size = request->size, align = request->align;
	const struct slab_needs needs = {
		.waiting = LARGE_WORDS,
		.shift = shift_for(size > align ? size : align),
		.node = topology_node_of_cpu(cpu_engine->cpu()),
		.may_grow = true,
	};
	struct slab *slab;

	if (!account_charge(NULL, os_pages(size)))
		return NULL;
	slab = segment_take_slab(&needs);
	if (!slab) {
		account_give_up(NULL, os_pages(size));
		return NULL;
	}
	request->used = slab->populated < size ? slab->populated : size;
	fit(slab, size);
	segment_count_large((long)os_pages(size));
	return slab;
}

static bool fits_in_slab(const struct large_request *request)
{
	return request->size <= LARGE_SLAB_MAX && request->align <= LARGE_SLAB_MAX &&
	       !request->red && !request->grows;
}

static struct slab *map(const struct large_request *request)
{
	struct slab *slab;

	if (request->size + request->red < request->size) {
		errno = ENOMEM;
		return NULL;
	}
	slab = segment_map_large(request->size + request->red, request->align);
	if (slab && request->red) {
		slab->large = request->size;
		large_red_begin(slab, request->size);
	}
	return slab;
}

static struct slab *attempt(struct large_request *request)
{
	alloc_failure_clear();
	return fits_in_slab(request) ? take_slab(request) : map(request);
}

static SLAB_SLOWPATH struct slab *attempt_again(struct large_request *request)
{
	struct retry retry = {
		.bytes = fits_in_slab(request) ? os_pages(request->size)
					       : segment_large_bytes(request->size + request->red,
								     request->align),
	};
	struct slab *slab = NULL;

	while (!slab && request->size < ADDRESSES && alloc_retry(&retry))
		slab = attempt(request);
	if (!slab)
		limit_failed(NULL, request->size > request->align ? request->size : request->align);
	return slab;
}

static struct slab *find_memory(struct large_request *request)
{
	struct slab *slab;

	request->red = large_red_wanted();
	if (!fits_in_slab(request))
		maintenance_poll();
	slab = attempt(request);
	/* A mapping takes less space than a slab of the next power of two. */
	if (SLAB_UNLIKELY(!slab && (request->grows || cpu_space_is_short()))) {
		request->grows = !request->grows;
		slab = attempt(request);
	}
	return SLAB_LIKELY(slab) ? slab : attempt_again(request);
}

static void *serve_request(struct large_request *request)
{
	int saved = errno;
	struct slab *slab;

	if (!slab_init())
		return NULL;
	SLAB_PROBE(large_alloc_begin, request->size);
	slab = find_memory(request);
	SLAB_PROBE(large_alloc_end, request->size, slab ? slab->base : NULL);
	if (!slab)
		return NULL;
	soft_check();
	errno = saved;
	large_type_none(slab);
	if (annotate_is_on())
		annotate_alloc(slab->base, request->size, request->zeroed);
	if (request->zeroed)
		memset(slab->base, 0, request->used);
	return slab->base;
}

void *large_alloc(size_t size, size_t align)
{
	return serve_request(&(struct large_request){.size = size, .align = align});
}

void *large_calloc(size_t size)
{
	return serve_request(&(struct large_request){.size = size, .align = 1, .zeroed = true});
}

void *large_alloc_growing(size_t size)
{
	const bool grows =
		size <= LARGE_SLAB_MAX && size > __atomic_load_n(&growing_from, __ATOMIC_RELAXED);

	return serve_request(&(struct large_request){.size = size, .align = 1, .grows = grows});
}

/* A mapping of this size is freed. A lost update does no harm. */
static void end_growth(size_t size)
{
	if (size <= LARGE_SLAB_MAX && size > __atomic_load_n(&growing_from, __ATOMIC_RELAXED))
		__atomic_store_n(&growing_from, size, __ATOMIC_RELAXED);
}

static SLAB_SLOWPATH void report_inside(const struct slab *slab, const void *ptr,
					const void *caller)
{
	const size_t size = __atomic_load_n(&slab->large, __ATOMIC_RELAXED);
	struct bug_info bug;

	bug_info_begin(&bug, SLAB_PROBLEM_INVALID_POINTER, "slab_malloc",
		       "Invalid object pointer %p", ptr);
	if (size) /* another thread may just have freed it */
		bug_info_note(&bug, "It points into %zu bytes at %p", size, (void *)slab->base);
	report_bad_free(NULL, &bug, ptr, caller);
}

bool large_starts_at(const struct slab *slab, const void *ptr, const void *caller)
{
	if (ptr == slab->base)
		return true;
	report_inside(slab, ptr, caller);
	return false;
}

void large_free(struct slab *slab, void *ptr, const void *caller)
{
	size_t size = 0;

	/* If two threads free the allocation at once, one of them gets 0. */
	if (ptr == slab->base)
		size = __atomic_exchange_n(&slab->large, 0, __ATOMIC_ACQ_REL);
	if (!size) {
		report_inside(slab, ptr, caller);
		return;
	}
	SLAB_PROBE(large_free, size, ptr, caller);
	large_profile_end(slab);
	large_type_end(slab);
	if (annotate_is_on())
		annotate_free(ptr, 0);
	if (large_is_red(slab))
		large_red_end(slab, size, caller);
	if (!large_is_slab(slab)) {
		end_growth(size);
		segment_unmap_large(slab);
		return;
	}
	segment_count_large(-(long)os_pages(size));
	if (unfit(slab, size, true))
		segment_free_slab(slab);
	account_release(NULL, os_pages(size));
	maintenance_poll();
}

size_t large_usable(const struct slab *slab)
{
	return large_is_red(slab) ? slab->large : os_pages(slab->large);
}

static bool resize_slab(struct slab *slab, size_t size)
{
	size_t before = os_pages(slab->large),
	       more = os_pages(size) > before ? os_pages(size) - before : 0;

	/* Do not stay in place if the object would use less than half of the slab. */
	if (size > slab_bytes(slab) || size < slab_bytes(slab) / 2)
		return false;
	if (more && !account_charge(NULL, more))
		return false;
	/* Wait while another thread cuts the tail: one system call. */
	while (!unfit(slab, slab->large, false))
		clock_sleep(50000);
	fit(slab, size);
	segment_count_large((long)(os_pages(size) - before));
	account_release(NULL, before + more - os_pages(size));
	return true;
}

static struct slab *remap(struct slab *slab, size_t size, size_t red)
{
	if (!segment_resize_large(slab, size + red))
		return NULL;
	__atomic_store_n(&slab->large, size, __ATOMIC_RELEASE);
	return slab;
}

/* The pages move, which costs less than a copy. Tools that watch memory would not see it. */
static struct slab *remap_elsewhere(struct slab *slab, size_t size)
{
	struct slab *moved = annotate_is_on() ? NULL : segment_move_large(slab, size);

	if (moved)
		__atomic_store_n(&moved->large, size, __ATOMIC_RELEASE);
	return moved;
}

static struct slab *resize_mapping(struct slab *slab, size_t size)
{
	struct slab *done = NULL;

	/* If a slab would do for the new size, copy the object only when it has shrunk to half. */
	if (size <= LARGE_SLAB_MAX && size <= slab->large / 2)
		return NULL;
	if (!large_is_red(slab)) {
		done = remap(slab, size, 0);
		return done ? done : remap_elsewhere(slab, size);
	}
	large_red_end(slab, slab->large, NULL);
	if (size + LARGE_RED_BYTES > size)
		done = remap(slab, size, LARGE_RED_BYTES);
	large_red_begin(slab, slab->large);
	return done;
}

static struct slab *resize(struct slab *slab, size_t size)
{
	alloc_failure_clear();
	if (!large_is_slab(slab))
		return resize_mapping(slab, size);
	return resize_slab(slab, size) ? slab : NULL;
}

void *large_resize(struct slab *slab, size_t size)
{
	const size_t old = slab->large;
	struct retry retry = {.bytes = size > old ? os_pages(size) - os_pages(old) : 0};
	int saved = errno;
	struct slab *done;

	if (size >= ADDRESSES)
		return NULL;
	if (!old) /* another thread has just freed it: slab_realloc() reports that */
		return NULL;
	while (!(done = resize(slab, size)))
		if (!alloc_retry(&retry))
			return NULL;
	errno = saved;
	SLAB_PROBE(large_resize, old, size, done->base);
	if (annotate_is_on())
		annotate_resize(done->base, old, size);
	return done->base;
}

void large_after_fork_child(void)
{
	struct slab *slab = cutting.slab;

	cutting.slab = NULL;
	if (!slab)
		return;
	if (cutting.freed) {
		segment_free_slab(slab);
	} else if (slab->large) {
		queue_add_head(&tails, slab);
		tail_bytes += slab->populated - os_pages(slab->large);
	}
}
