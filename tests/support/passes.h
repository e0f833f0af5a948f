/* SPDX-License-Identifier: MIT */
/*
 * Passes of maintenance, as fast as a test wants them: the clock is the test's own, and
 * no control thread runs any. Objects to be freed, and what is resident of them.
 */
#pragma once

#include "objects.h"
#include "process.h"
#include "without_thread.h"
#include "rooms.h"

/* Epochs of a decay time, and epochs after which memory is returned that was used just before. */
constexpr unsigned decay_epochs = DECAY_EPOCHS;
constexpr unsigned enough_epochs = DECAY_EPOCHS + 1;

/* The next pass, whenever it is due: what slab_maintain() would say. */
inline long run_pass()
{
	static std::uint64_t now;

	if (now < clock_us())
		now = clock_us();
	now += UINT64_C(1000000000);
	return decay_maintain(now);
}

inline void run_passes(unsigned n)
{
	while (n--)
		run_pass();
}

/* Until there are none any more: how many that took; 1000: they do not end. */
inline unsigned run_all_passes()
{
	unsigned n = 0;

	while (run_pass() >= 0 && n < 1000)
		n++;
	return n;
}

inline const std::size_t page = os_page_size();
/* Objects of these tests are of this size. */
constexpr std::size_t object_size = 512;
inline const std::size_t objects_per_page = page / object_size;

using objects = std::vector<void *>;

/* Object i bears pattern i. */
inline objects allocate(struct slab_cache *cache, std::size_t n)
{
	objects objs;

	for (std::size_t i = 0; i < n; i++) {
		objs.push_back(slab_alloc(cache));
		fill(objs.back(), object_size, i);
	}
	return objs;
}

inline void free_all(struct slab_cache *cache, const objects &objs)
{
	for (void *obj : objs)
		slab_free(cache, obj);
}

inline std::set<std::uintptr_t> pages_of(const objects &objs)
{
	std::set<std::uintptr_t> pages;

	for (void *obj : objs)
		pages.insert(reinterpret_cast<std::uintptr_t>(obj) & ~(page - 1));
	return pages;
}

/* Pages of these objects that hold memory. */
inline std::size_t resident(const objects &objs)
{
	std::size_t n = 0;

	for (std::uintptr_t at : pages_of(objs))
		n += resident_pages(reinterpret_cast<void *>(at), page) != 0;
	return n;
}

/* One object in each of `step`. Two may share a page: a thread that gets to another CPU
 * begins another slab in between, and so it does after a pass took its slab. */
struct survivors {
	objects live, dead;

	/* Pages with objects of both kinds. */
	std::size_t mixed_pages() const
	{
		const std::set<std::uintptr_t> kept = pages_of(live);
		std::size_t n = 0;

		for (std::uintptr_t at : pages_of(dead))
			n += kept.count(at);
		return n;
	}
};

inline survivors thin_out(struct slab_cache *cache, std::size_t n, std::size_t step)
{
	survivors result;

	for (std::size_t i = 0; i < n; i++) {
		void *obj = slab_alloc(cache);

		fill(obj, object_size, i);
		(i % step == 0 ? result.live : result.dead).push_back(obj);
	}
	free_all(cache, result.dead);
	return result;
}
