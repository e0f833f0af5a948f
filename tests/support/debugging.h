/* SPDX-License-Identifier: MIT */
/* Debug flags in tests, and the fixture of tests that expect reports. */
#pragma once

#include "objects.h"
#include "place.h"
#include "process.h"
#include "reports.h"

constexpr std::uint64_t all_debug_flags = SLAB_DEBUG_DEFAULT;

/* "FZP" as flags. */
inline std::uint64_t debug_flags(const std::string &text)
{
	std::uint64_t flags = 0;

	EXPECT_EQ(debug_flags_parse(text.c_str(), text.size(), &flags), 0) << text;
	return flags;
}

/* Sizes of objects that layouts are tried with. */
inline std::vector<std::size_t> all_sizes()
{
	std::vector<std::size_t> sizes = {1000, 4096, 32768};

	for (std::size_t size = 1; size <= 300; size += under_tsan ? 29 : size < 72 ? 1 : 3)
		sizes.push_back(size);
	return sizes;
}

/* All sixteen combinations of F, Z, P and U. */
inline std::vector<std::uint64_t> all_layouts()
{
	std::vector<std::uint64_t> all;

	for (std::uint64_t bits = 0; bits < 16; bits++)
		all.push_back(bits); /* the debug flags are bits 0 to 3 */
	return all;
}

/* The compiler shall not know what is done to freed objects. */
inline char *hidden(void *obj)
{
	void *volatile pointer = obj;

	return static_cast<char *>(pointer);
}

/* The cache of <slab/malloc.h> that serves this size. */
inline struct slab_cache *cache_of_size(std::size_t size)
{
	struct search {
		std::string name;
		struct slab_cache *found;
	} search = {
		"size-" + (size % 1024 ? std::to_string(size) : std::to_string(size / 1024) + "k"),
		nullptr};
	void *obj = slab_malloc(size);

	slab_for_each_cache(
		[](struct slab_cache *cache, void *arg) {
			auto *s = static_cast<struct search *>(arg);

			if (s->name == slab_cache_name(cache))
				s->found = cache;
			return s->found ? 1 : 0;
		},
		&search);
	slab_mfree(obj);
	EXPECT_NE(search.found, nullptr) << search.name;
	return search.found;
}

/* Debug flags for a while. */
class flagged
{
public:
	flagged(struct slab_cache *cache, std::uint64_t flags) : cache_(cache)
	{
		EXPECT_EQ(slab_cache_debug(cache_, flags), 0);
	}

	~flagged() { EXPECT_EQ(slab_cache_debug(cache_, 0), 0); }

	flagged(const flagged &) = delete;
	flagged &operator=(const flagged &) = delete;

private:
	struct slab_cache *cache_;
};

/*
 * A test of one cache's debugging: nothing may be reported but what it expects.
 */
class DebugTest : public testing::Test
{
protected:
	/* The only report there is; throws when there is none. */
	caught_report reported() const
	{
		EXPECT_EQ(reports_.count(), 1u) << reports_.text();
		return reports_.last();
	}

	/* The bytes first … last were not what they should be. */
	void expect_damage(enum slab_problem problem, const std::string &reason, const char *first,
			   const char *last, unsigned found, unsigned expected, unsigned fixes = 1)
	{
		const caught_report report = reported();

		EXPECT_EQ(report.info.problem, problem);
		EXPECT_EQ(report.reason, reason);
		EXPECT_EQ(report.info.first, first);
		EXPECT_EQ(report.info.last, last);
		EXPECT_EQ(report.info.found, found);
		EXPECT_EQ(report.info.expected, expected);
		EXPECT_EQ(report.info.fixes, fixes);
		EXPECT_EQ(report.text.size(), report.text.rfind('\n') + 1);
	}

	void expect_problem(enum slab_problem problem, const std::string &reason,
			    unsigned fixes = 1)
	{
		const caught_report report = reported();

		EXPECT_EQ(report.info.problem, problem);
		EXPECT_EQ(report.reason, reason);
		EXPECT_EQ(report.info.first, nullptr);
		EXPECT_EQ(report.info.last, nullptr);
		EXPECT_EQ(report.info.fixes, fixes);
	}

	/* What was reported was counted once, is put right or out of the way, and the
	 * cache goes on. */
	void expect_contained(struct slab_cache *cache, unsigned errors)
	{
		const unsigned before = reports_.count();

		EXPECT_EQ(stats_of(cache).errors, errors);
		EXPECT_EQ(slab_cache_validate(cache), 0);
		const std::vector<void *> objs = alloc_many(cache, 2000);
		EXPECT_TRUE(all_distinct(objs));
		for (void *obj : objs)
			std::memset(obj, 0x11, slab_cache_size(cache));
		EXPECT_EQ(slab_cache_validate(cache), 0);
		free_many(cache, objs);
		EXPECT_EQ(slab_cache_validate(cache), 0);
		EXPECT_EQ(reports_.count(), before) << reports_.text();
	}

	/* obj has no user, and is never allocated again. */
	void expect_never_again(struct slab_cache *cache, const void *obj)
	{
		const std::vector<void *> objs = alloc_many(cache, 3000);

		EXPECT_EQ(std::count(objs.begin(), objs.end(), obj), 0);
		free_many(cache, objs);
	}

	report_capture reports_;
};
