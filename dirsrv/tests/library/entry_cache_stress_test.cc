/* SPDX-License-Identifier: MIT */
/*
 * Readers without locks, while others add, evict, delete, change and move what
 * they look at. Every value carries the number of its entry and the version of its
 * attribute, so a reader that finds anything of another entry, of freed memory or of two
 * versions in one attribute sees it.
 */
#include "entry_caches.h"

using namespace dirsrv_test;
namespace
{

/* The work is counted, not timed. There are so few entries that threads meet at them, and
 * room for two thirds of them, so that they come and go. */
constexpr unsigned numbers = 48;
const unsigned steps = under_tsan || under_asan ? 6000 : 30000;
constexpr std::size_t limit = 60000;

/* --- threads ------------------------------------------------------------------------------ */

class EntryCacheStressTest : public PoolTest
{
public:
	using step = void (EntryCacheStressTest::*)(std::mt19937 &);

	std::atomic<unsigned> wrong{0}, seen{0}, working{0};
	struct dirsrv_entry_cache *cache = dirsrv_entry_cache_create(pool, limit, 0);

	~EntryCacheStressTest() override
	{
		EXPECT_EQ(dirsrv_entry_cache_destroy(cache, nullptr, nullptr), 0);
		EXPECT_EQ(objects(), 0u);
		for (const char *kind : {"test.entry", "test.attribute", "test.value", "test.dn"})
			EXPECT_EQ(slab_cache_validate(cache_called(kind)), 0) << kind;
	}

	/* Writers do a fixed number of steps, and more until the number `until` is above 0; all
	 * others go on until these are done. */
	void run(const std::vector<step> &writers, const std::vector<step> &others,
		 std::uint64_t dirsrv_entry_cache_stats::*until = &dirsrv_entry_cache_stats::evicts)
	{
		std::vector<std::thread> threads;
		unsigned seed = 0;

		working = static_cast<unsigned>(writers.size());
		for (step write : writers)
			threads.emplace_back([this, write, until, s = ++seed] {
				registered there;
				std::mt19937 random(s);

				for (unsigned i = 0; i < steps || !count_of(until); i++)
					(this->*write)(random);
				working--;
			});
		for (step other : others)
			threads.emplace_back([this, other, s = ++seed] {
				registered there;
				std::mt19937 random(s);

				while (working)
					(this->*other)(random);
			});
		join_all(threads);
		EXPECT_EQ(wrong, 0u);
		EXPECT_EQ(count_of(&dirsrv_entry_cache_stats::bytes), sum_of_sizes());
		EXPECT_GT(seen, 100u);
		EXPECT_GT(count_of(&dirsrv_entry_cache_stats::removes), 0u);
	}

	std::uint64_t count_of(std::uint64_t dirsrv_entry_cache_stats::*what)
	{
		struct dirsrv_entry_cache_stats now = {};

		now.struct_size = sizeof(now);
		EXPECT_EQ(dirsrv_entry_cache_stats_read(cache, &now), 0);
		return now.*what;
	}

	std::uint64_t sum_of_sizes()
	{
		std::uint64_t sum = 0;
		section reading;

		dirsrv_entry_cache_each(
			cache,
			[](struct dirsrv_entry *entry, void *arg) {
				*static_cast<std::uint64_t *>(arg) += dirsrv_entry_size(entry);
				return true;
			},
			&sum);
		return sum;
	}

	/* --- what readers do ------------------------------------------------------------ */

	void check(const struct dirsrv_entry *entry, unsigned number)
	{
		seen++;
		wrong += !is_whole(entry, number);
	}

	/* Long enough, now and then, for others to free it and to use its memory again. */
	void look(std::mt19937 &random)
	{
		const unsigned number = random() % numbers;
		name dn(pool, numbered_dn(number));
		section reading;
		const struct dirsrv_entry *entry = dirsrv_entry_cache_lookup(cache, dn);

		if (!entry)
			return;
		check(entry, number);

		const struct dirsrv_attribute *note = dirsrv_entry_find(entry, "note", 4);

		if (random() % 8 == 0)
			std::this_thread::yield();
		check(entry, number);
		/* What took its place is another's. */
		wrong += !attribute_is_whole(note, number);
	}

	void look_by_name(std::mt19937 &random)
	{
		const unsigned number = random() % numbers;
		const std::string wanted = "user" + std::to_string(number);
		struct asked {
			EntryCacheStressTest *test;
			unsigned number;
		} asked{this, number};
		section reading;
		const std::size_t found = dirsrv_entry_cache_named(
			cache, wanted.data(), wanted.size(),
			[](struct dirsrv_entry *entry, void *arg) {
				const auto *a = static_cast<struct asked *>(arg);

				a->test->check(entry, a->number);
				return true;
			},
			&asked);

		wrong += found > 1;
	}

	void hold(std::mt19937 &random)
	{
		const unsigned number = random() % numbers;
		struct dirsrv_entry *entry =
			dirsrv_entry_cache_get(cache, name(pool, numbered_dn(number)));

		if (!entry)
			return;
		if (random() % 16 == 0)
			std::this_thread::yield();
		dirsrv_entry_read_lock(entry);
		check(entry, number);
		dirsrv_entry_read_unlock(entry);
		dirsrv_entry_put(entry);
	}

	void copy(std::mt19937 &random)
	{
		const unsigned number = random() % numbers;
		name dn(pool, numbered_dn(number));
		struct dirsrv_entry *copied = nullptr;
		{
			section reading;
			const struct dirsrv_entry *entry = dirsrv_entry_cache_lookup(cache, dn);

			if (entry)
				copied = dirsrv_entry_copy(entry);
		}
		if (copied)
			check(copied, number);
		dirsrv_entry_put(copied);
	}

	void walk(std::mt19937 &)
	{
		section reading;

		dirsrv_entry_cache_each(
			cache,
			[](struct dirsrv_entry *entry, void *arg) {
				unsigned number = 0;

				std::sscanf(dirsrv_dn_text(dirsrv_entry_dn(entry), nullptr),
					    "uid=user%u,", &number);
				static_cast<EntryCacheStressTest *>(arg)->check(entry, number);
				return true;
			},
			this);
	}

	/* --- what writers do ---------------------------------------------------------------- */

	void add(std::mt19937 &random)
	{
		struct dirsrv_entry *entry = make_numbered(pool, random() % numbers, random() % 9);
		const int error = dirsrv_entry_cache_add(cache, entry);

		wrong += error != 0 && error != -EEXIST;
		dirsrv_entry_put(entry);
	}

	void remove(std::mt19937 &random)
	{
		const unsigned number = random() % numbers;
		struct dirsrv_entry *entry =
			dirsrv_entry_cache_remove(cache, name(pool, numbered_dn(number)));

		if (entry)
			check(entry, number);
		dirsrv_entry_put(entry);
	}

	void change(std::mt19937 &random)
	{
		const unsigned number = random() % numbers;
		struct dirsrv_entry *entry =
			dirsrv_entry_cache_get(cache, name(pool, numbered_dn(number)));

		if (!entry)
			return;
		wrong += replace(entry, random() % 2 ? "note" : "description",
				 numbered_values(number, random() % 9)) != 0;
		dirsrv_entry_put(entry);
	}

	void write(std::mt19937 &random)
	{
		switch (random() % 8) {
		case 0:
		case 1:
		case 2:
			add(random);
			break;
		case 3:
			remove(random);
			break;
		case 4:
			if (random() % 64 == 0)
				dirsrv_entry_cache_evict(cache, limit / 2);
			break;
		default:
			change(random);
		}
	}

	/* --- what libslab does ---------------------------------------------------------------- */

	/* Without the evicted entries the slabs are sparse. */
	void defrag(std::mt19937 &)
	{
		dirsrv_entry_cache_evict(cache, limit / 8);
		wrong += slab_cache_defrag(cache_called("test.entry")) < 0;
		std::this_thread::yield();
	}

	void reclaim(std::mt19937 &)
	{
		/* More than there is: what is free is not enough, so callbacks are asked. */
		slab_reclaim(64u << 20);
		std::this_thread::sleep_for(std::chrono::milliseconds(5));
	}
};

TEST_F(EntryCacheStressTest, ReadersSeeWholeEntriesWhateverOthersDo)
{
	run({&EntryCacheStressTest::write, &EntryCacheStressTest::write},
	    {&EntryCacheStressTest::look, &EntryCacheStressTest::hold});
}

TEST_F(EntryCacheStressTest, ReadersSeeWholeEntriesWhileTheyMove)
{
	run({&EntryCacheStressTest::write},
	    {&EntryCacheStressTest::look, &EntryCacheStressTest::hold,
	     &EntryCacheStressTest::defrag},
	    &dirsrv_entry_cache_stats::moves);
}

TEST_F(EntryCacheStressTest, CopiesNamesAndWalksSeeWholeEntries)
{
	run({&EntryCacheStressTest::write},
	    {&EntryCacheStressTest::copy, &EntryCacheStressTest::look_by_name,
	     &EntryCacheStressTest::walk, &EntryCacheStressTest::defrag});
}

TEST_F(EntryCacheStressTest, MemoryIsReclaimedMeanwhile)
{
	run({&EntryCacheStressTest::write, &EntryCacheStressTest::write},
	    {&EntryCacheStressTest::look, &EntryCacheStressTest::reclaim,
	     &EntryCacheStressTest::defrag},
	    &dirsrv_entry_cache_stats::reclaims);
}

} // namespace
