/* SPDX-License-Identifier: MIT */
/*
 * Sampled objects under test: a cache of which every object is guarded, objects at one
 * end of their page, and the reports of children that misuse them.
 */
#pragma once

#include "faults.h"
#include "objects.h"
#include "without_thread.h"
#include "rooms.h"

inline const std::size_t page = os_page_size();
constexpr std::size_t object_size = 64;

inline void sample_every(struct slab_cache *cache, unsigned long interval)
{
	EXPECT_EQ(slab_cache_sample(cache, interval), 0);
}

inline bool is_guarded(const void *obj)
{
	const struct slab *slab = slab_of(obj);

	return slab->debug && slab->debug->guarded;
}

inline std::uintptr_t number(const void *address)
{
	return reinterpret_cast<std::uintptr_t>(address);
}

inline std::string text(const void *address)
{
	char buffer[32];

	std::snprintf(buffer, sizeof(buffer), "%p", address);
	return buffer;
}

inline bool at_left_end(const void *obj)
{
	return number(obj) % page == 0;
}

class GuardTest : public testing::Test
{
protected:
	GuardTest() : cache_(object_size) { sample_every(cache_, 1); }

	~GuardTest() override { sample_every(cache_, 0); }

	/* The compiler would warn of what comes after, so it does not get to see it. */
	void free(void *obj)
	{
		void *volatile hidden = obj;

		slab_free(cache_, hidden);
	}

	/* Has the fast path something to allocate from? */
	bool has_fast_path() const
	{
		const struct slab_cache *cache = cache_;

		return __atomic_load_n(&cache->alloc_arrays, __ATOMIC_RELAXED) != cpu_arrays_none();
	}

	/* A guarded object at one end of its page; the others are freed. */
	char *object_at(bool left)
	{
		std::vector<void *> others;
		char *obj;

		for (;;) {
			obj = static_cast<char *>(slab_alloc(cache_));
			EXPECT_TRUE(is_guarded(obj));
			if (at_left_end(obj) == left || others.size() > 100)
				break;
			others.push_back(obj);
		}
		free_many(cache_, others);
		EXPECT_EQ(at_left_end(obj), left);
		return obj;
	}

	/* The report that a child died with, which had made `access`. */
	template <typename Access> std::string report_of(Access access)
	{
		const child_end end = end_of_child([&] {
			access();
			return FINE;
		});

		EXPECT_EQ(end.signal, SIGSEGV) << end.output;
		return end.output;
	}

	std::string heading(const std::string &what) const
	{
		return std::string(77, '=') + "\nBUG " + cache_.name() + ": " + what + "\n" +
		       std::string(77, '-') + "\n\n";
	}

	test_cache cache_;
};

inline bool has_line(const std::string &report, const std::string &start)
{
	return report.find("\n" + start) != std::string::npos;
}

inline std::size_t count_of(const std::string &all, const std::string &what)
{
	std::size_t n = 0;

	for (std::size_t at = 0; (at = all.find(what, at)) != std::string::npos; at++)
		n++;
	return n;
}
