/* SPDX-License-Identifier: MIT */
/*
 * Random corruption: bytes that must hold a value get another one, anywhere
 * around and in the objects of caches of any layout. Validation finds each of
 * them, says exactly which bytes they are, puts them back, and finds nothing
 * else, however much is written to allocated objects meanwhile. Frees and
 * allocations find what is theirs.
 *
 * What must hold which value is worked out here once more, by the rules of
 * slab/debug/layout.h. The seed is fixed; each test prints its counts.
 */
#include "../support/debugging.h"

namespace
{

/* Bytes that must all hold one value. */
struct watched {
	enum slab_problem problem;
	char *start, *end;
	unsigned char value;
};

/* The bytes of one damaged region, and what they were changed to. */
struct damaged {
	watched region;
	std::map<char *, unsigned char> bytes;
};

/* A cache with debug flags, some of its objects allocated, all written to. */
class victim
{
public:
	explicit victim(std::mt19937 &random) : random_(random)
	{
		debug_flags_ = random() % 16;
		if (!(debug_flags_ & (SLAB_RED_ZONE | SLAB_POISON)))
			debug_flags_ |= random() % 2 ? SLAB_RED_ZONE : SLAB_POISON;
		by_size_ = random() % 4 == 0;
		if (by_size_)
			open_size_class();
		else
			create();
		lost_ = stats_of(cache_).objects;
	}

	~victim()
	{
		while (!objs_.empty())
			release(objs_.back());
		if (by_size_)
			EXPECT_EQ(slab_cache_debug(cache_, 0), 0);
		else
			EXPECT_EQ(slab_cache_destroy(cache_), 0);
	}

	victim(const victim &) = delete;
	victim &operator=(const victim &) = delete;

	struct slab_cache *cache() const { return cache_; }

	/* Allocate and free at random, and write to everything that is allocated. */
	void live()
	{
		for (unsigned n = 1 + random_() % 60; n; n--)
			allocate();
		for (unsigned n = random_() % 60; n && objs_.size() > 1; n--)
			release(some_object());
		for (char *obj : objs_)
			write(obj, requested_.at(obj));
	}

	/* What is watched of an object and around it. */
	std::vector<watched> around(char *object) const
	{
		const place at(object);
		const bool free = requested_.find(object) == requested_.end();
		const unsigned char red = free ? RED_INACTIVE : RED_ACTIVE;
		char *const end = object + size_, *const inuse = object + at.debug->inuse;
		std::vector<watched> all;

		if (debug_flags_ & SLAB_RED_ZONE) {
			all.push_back({SLAB_PROBLEM_LEFT_REDZONE, at.start, object, red});
			all.push_back({SLAB_PROBLEM_RIGHT_REDZONE, end, inuse, red});
			if (!free)
				all.push_back({SLAB_PROBLEM_MALLOC_REDZONE,
					       object + requested_.at(object), end, red});
		} else {
			all.push_back({SLAB_PROBLEM_ALIGNMENT_PADDING, end, inuse, POISON_INUSE});
		}
		if (debug_flags_ & SLAB_POISON)
			all.push_back({SLAB_PROBLEM_OBJECT_PADDING, inuse, at.end, POISON_INUSE});
		if (debug_flags_ & SLAB_POISON && free && !constructed_) {
			all.push_back({SLAB_PROBLEM_POISON, object, end - 1, POISON_FREE});
			all.push_back({SLAB_PROBLEM_END_POISON, end - 1, end, POISON_END});
		}
		all.erase(std::remove_if(all.begin(), all.end(),
					 [](const watched &w) { return w.start == w.end; }),
			  all.end());
		return all;
	}

	/* The same, and what its slab has behind the last object. */
	std::vector<watched> around_and_behind(char *object) const
	{
		std::vector<watched> all = around(object);
		const place at(object);

		if (debug_flags_ & SLAB_POISON && at.rest() != at.slab_end())
			all.push_back({SLAB_PROBLEM_SLAB_PADDING, at.rest(), at.slab_end(),
				       POISON_INUSE});
		return all;
	}

	/* An allocated object, or any of a slab that has some. */
	char *any_object() const
	{
		char *some = some_object();
		const struct slab *slab = slab_of(some);
		const unsigned index = random_() % slab->objects;

		if (random_() % 3 == 0 || debug_record(slab, index)->state == OBJECT_LOST)
			return some;
		return debug_object_at(slab, index);
	}

	bool is_free(char *object) const { return place(object).record()->state == OBJECT_FREE; }

	char *some_object() const { return objs_[random_() % objs_.size()]; }

	void allocate()
	{
		const std::size_t requested =
			by_size_ ? lowest_ + random_() % (size_ - lowest_ + 1) : size_;
		void *obj = by_size_ ? slab_malloc(requested) : slab_alloc(cache_);

		ASSERT_NE(obj, nullptr);
		objs_.push_back(static_cast<char *>(obj));
		ASSERT_TRUE(requested_.emplace(objs_.back(), requested).second);
	}

	void release(char *object)
	{
		requested_.erase(object);
		objs_.erase(std::find(objs_.begin(), objs_.end(), object));
		if (by_size_)
			slab_mfree(hidden(object));
		else
			slab_free(cache_, hidden(object));
	}

	std::size_t count() const { return objs_.size(); }

	/* Objects of a size class that earlier tests damaged: they are never freed. */
	std::size_t lost() const { return lost_; }

private:
	void create()
	{
		static unsigned number;
		const std::string name = "victim-" + std::to_string(++number);
		struct slab_cache_args args = {};

		size_ = 1 + random_() % (random_() % 8 ? 300 : 5000);
		args.align = random_() % 2 ? 0 : std::size_t{8} << random_() % 7;
		constructed_ = random_() % 4 == 0;
		if (constructed_)
			args.ctor = [](void *, void *) { return 0; };
		cache_ = slab_cache_create(name.c_str(), size_, &args, debug_flags_);
	}

	void open_size_class()
	{
		static const std::size_t steps[] = {16, 48, 64, 128, 256};

		size_ = steps[random_() % 5];
		lowest_ = size_ == 256 ? 241 : size_ - 15;
		cache_ = cache_of_size(size_);
		EXPECT_EQ(slab_cache_debug(cache_, debug_flags_), 0);
	}

	void write(char *object, std::size_t bytes)
	{
		for (std::size_t i = 0; i < bytes; i++)
			object[i] = static_cast<char>(random_());
	}

	std::mt19937 &random_;
	struct slab_cache *cache_ = nullptr;
	std::uint64_t debug_flags_;
	std::size_t size_ = 0, lowest_ = 0, lost_ = 0;
	bool by_size_, constructed_ = false;
	/* In the order of allocation, the same in each run. */
	std::vector<char *> objs_;
	std::map<char *, std::size_t> requested_;
};

class CorruptionTest : public testing::Test
{
protected:
	/* Change a byte of this region to something else. */
	void flip(std::vector<damaged> &all, const watched &region)
	{
		char *byte = region.start +
			     random_() % static_cast<std::size_t>(region.end - region.start);
		auto at = std::find_if(all.begin(), all.end(), [&](const damaged &d) {
			return d.region.start == region.start && d.region.problem == region.problem;
		});

		*byte = static_cast<char>(region.value ^ (1 + random_() % 255));
		if (at == all.end())
			at = all.insert(all.end(), {region, {}});
		at->bytes[byte] = static_cast<unsigned char>(*byte);
		flipped_++;
	}

	/* One to four bytes anywhere. */
	std::vector<damaged> damage(const victim &cache)
	{
		std::vector<damaged> all;

		for (unsigned n = 1 + random_() % 4; n; n--) {
			const std::vector<watched> regions =
				cache.around_and_behind(cache.any_object());

			if (!regions.empty())
				flip(all, regions[random_() % regions.size()]);
		}
		return all;
	}

	/* Exactly these are reported, with their first and last byte, and repaired. */
	void expect_found(const std::vector<damaged> &all)
	{
		const std::vector<caught_report> reports = reports_.all();

		ASSERT_EQ(reports.size(), all.size()) << reports_.text();
		for (const damaged &d : all) {
			const auto at = std::find_if(
				reports.begin(), reports.end(), [&](const caught_report &report) {
					return report.info.first == d.bytes.begin()->first &&
					       report.info.problem == d.region.problem;
				});

			ASSERT_NE(at, reports.end()) << reports_.text();
			ASSERT_EQ(at->info.last, d.bytes.rbegin()->first);
			ASSERT_EQ(at->info.found, d.bytes.begin()->second);
			ASSERT_EQ(at->info.expected, d.region.value);
			ASSERT_EQ(at->info.fixes, 1u);
			found_++;
			kinds_.insert(d.region.problem);
			for (const auto &byte : d.bytes)
				ASSERT_EQ(static_cast<unsigned char>(*byte.first), d.region.value);
		}
	}

	void print(unsigned rounds) const
	{
		std::printf("%u rounds, %lu bytes changed, %lu of %lu problems found, "
			    "%lu checks of sound caches found %lu\n",
			    rounds, flipped_, found_, expected_, sound_, false_);
		EXPECT_EQ(found_, expected_);
		EXPECT_EQ(false_, 0u);
	}

	/* A validation that must find nothing. */
	void expect_sound(const victim &cache)
	{
		reports_.clear();
		EXPECT_EQ(slab_cache_validate(cache.cache()), 0);
		EXPECT_EQ(reports_.count(), 0u) << reports_.text();
		false_ += reports_.count();
		sound_++;
		reports_.clear();
	}

	std::mt19937 random_{20240229};
	report_capture reports_;
	unsigned long flipped_ = 0, found_ = 0, expected_ = 0, sound_ = 0, false_ = 0;
	std::set<enum slab_problem> kinds_;
};

TEST_F(CorruptionTest, ValidationFindsEveryChangedByteAndNoOther)
{
	constexpr unsigned caches = 250, rounds_each = 20;

	for (unsigned i = 0; i < caches && !HasFatalFailure(); i++) {
		victim cache(random_);

		for (unsigned round = 0; round < rounds_each && !HasFatalFailure(); round++) {
			cache.live();
			expect_sound(cache);
			const std::vector<damaged> all = damage(cache);
			expected_ += all.size();
			EXPECT_EQ(slab_cache_validate(cache.cache()),
				  static_cast<long>(all.size()));
			expect_found(all);
			expect_sound(cache);
		}
	}
	print(caches * rounds_each);
	/* Every kind of damage to bytes has been there. */
	EXPECT_EQ(kinds_.size(), 8u);
}

/* A free reports the first damaged region of its object, and keeps the object. */
TEST_F(CorruptionTest, FreeingFindsEveryDamagedObject)
{
	constexpr unsigned caches = 200, rounds_each = 10;

	for (unsigned i = 0; i < caches && !HasFailure(); i++) {
		victim cache(random_);
		unsigned problems = 0;

		for (unsigned round = 0; round < rounds_each && !HasFailure(); round++) {
			cache.live();
			expect_sound(cache);
			char *object = cache.some_object();
			std::vector<damaged> all;
			const std::vector<watched> regions = cache.around(object);

			if (regions.empty())
				continue;
			flip(all, regions[random_() % regions.size()]);
			expected_++;
			cache.release(object);
			ASSERT_EQ(reports_.count(), 1u) << reports_.text();
			const caught_report report = reports_.last();
			EXPECT_EQ(report.info.problem, all[0].region.problem);
			EXPECT_EQ(report.info.first, all[0].bytes.begin()->first);
			EXPECT_EQ(report.info.fixes, 2u);
			EXPECT_NE(report.text.find(" not freed\n"), std::string::npos);
			found_++;
			problems++;
		}
		expect_sound(cache);
		EXPECT_EQ(stats_of(cache.cache()).objects, cache.lost() + cache.count() + problems);
	}
	print(caches * rounds_each);
}

/* Allocation looks at what it hands out: the slab of a damaged object is given up. */
TEST_F(CorruptionTest, AllocationHandsOutNoDamagedObject)
{
	constexpr unsigned rounds = 500;

	for (unsigned round = 0; round < rounds && !HasFailure(); round++) {
		victim cache(random_);
		std::vector<damaged> all;

		cache.live();
		expect_sound(cache);
		char *object = cache.any_object();
		const struct slab *slab = slab_of(object);
		const std::vector<watched> regions = cache.around(object);
		if (!cache.is_free(object) || regions.empty())
			continue;
		flip(all, regions[random_() % regions.size()]);
		expected_++;
		while (reports_.count() == 0 && cache.count() < 20000 && !HasFailure())
			cache.allocate();
		ASSERT_EQ(reports_.count(), 1u) << reports_.text();
		EXPECT_EQ(reports_.last().info.first, all[0].bytes.begin()->first);
		EXPECT_EQ(reports_.last().info.fixes, 2u);
		EXPECT_TRUE(slab->debug->disabled);
		EXPECT_TRUE(cache.is_free(object));
		found_++;
		expect_sound(cache);
	}
	print(rounds);
}

/* The layout of debug slabs, by computation: every size, alignment and combination of debug
 * flags. */

TEST(LayoutTest, EveryLayoutIsAlignedAndHasRoomForItsRedZones)
{
	alignas(CPU_CACHELINE) char memory[sizeof(struct slab_cache)] = {};
	auto *cache = reinterpret_cast<struct slab_cache *>(memory);

	for (std::size_t size : all_sizes())
		for (std::size_t align = 8; align <= 4096; align *= 2)
			for (std::uint64_t flags : all_layouts()) {
				struct debug_layout layout;

				cache->object_size = size;
				cache->align = align;
				debug_layout(cache, flags, &layout);
				const bool red = flags & SLAB_RED_ZONE;

				SCOPED_TRACE(testing::Message()
					     << size << ' ' << align << ' ' << flags);
				ASSERT_EQ(layout.size % align, 0u);
				ASSERT_EQ(layout.red_left % align, 0u);
				ASSERT_GE(layout.red_left, red ? 8u : 0u);
				ASSERT_GE(layout.inuse, size + (red ? 8 : 0));
				ASSERT_LE(layout.red_left + layout.inuse, layout.size);
				ASSERT_GE(layout.objects, 1u);
				ASSERT_LE(layout.objects * layout.size,
					  std::size_t{1} << layout.slab_shift);
				ASSERT_EQ(layout.stride, flags & SLAB_STORE_USER ? 40u : 8u);
			}
}

} /* namespace */
