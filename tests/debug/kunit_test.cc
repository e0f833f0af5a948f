/* SPDX-License-Identifier: MIT */
/*
 * The cases of the kernel's slub_kunit suite, with its numbers of errors: as
 * there, each report counts, each "FIX" line, and each leaked object.
 *
 * The names are the kernel's, and so are sizes, debug flags and what is written
 * where. Where libslab differs, the case says so.
 */
#include "../support/array_length.h"
#include "../support/debugging.h"
#include "../support/flavours.h"
#include "../support/objects.h"
#include "../support/process.h"
#include "../support/reports.h"

namespace
{

class KunitTest : public testing::Test
{
protected:
	/* Errors of one validation. */
	unsigned validate(struct slab_cache *cache)
	{
		reports_.clear();
		slab_cache_validate(cache);
		return errors();
	}

	unsigned errors() const { return reports_.bugs() + reports_.fixes(); }

	report_capture reports_;
};

TEST_F(KunitTest, test_clobber_zone)
{
	test_cache cache(64, SLAB_RED_ZONE);
	char *p = hidden(slab_alloc(cache));

	p[64] = 0x12;
	EXPECT_EQ(validate(cache), 2u) << reports_.text();
	slab_free(cache, p);
	EXPECT_EQ(validate(cache), 0u) << reports_.text();
}

/* The free pointer stands in the object's record. */
TEST_F(KunitTest, test_next_pointer)
{
	test_cache cache(64, SLAB_POISON);
	void *a = slab_alloc(cache), *b = slab_alloc(cache);
	const place first(a);

	slab_free(cache, a);
	slab_free(cache, b);
	const std::uint16_t next = first.record()->next;

	/* Freechain corrupt, Wrong object count, and it is adjusted. */
	first.record()->next = static_cast<std::uint16_t>(next ^ 0xff00);
	EXPECT_EQ(validate(cache), 3u) << reports_.text();
	/* The list is whole again, so the count that was adjusted is wrong. */
	first.record()->next = next;
	EXPECT_EQ(validate(cache), 2u) << reports_.text();
	EXPECT_EQ(validate(cache), 0u) << reports_.text();
}

TEST_F(KunitTest, test_first_word)
{
	test_cache cache(64, SLAB_POISON);
	char *p = hidden(slab_alloc(cache));

	slab_free(cache, hidden(p));
	*p = 0x78;
	EXPECT_EQ(validate(cache), 2u) << reports_.text();
	EXPECT_EQ(validate(cache), 0u) << reports_.text();
}

TEST_F(KunitTest, test_clobber_50th_byte)
{
	test_cache cache(64, SLAB_POISON);
	char *p = hidden(slab_alloc(cache));

	slab_free(cache, hidden(p));
	p[50] = static_cast<char>(0x9a);
	EXPECT_EQ(validate(cache), 2u) << reports_.text();
	EXPECT_EQ(validate(cache), 0u) << reports_.text();
}

TEST_F(KunitTest, test_clobber_redzone_free)
{
	test_cache cache(64, SLAB_RED_ZONE);
	char *p = hidden(slab_alloc(cache));

	slab_free(cache, hidden(p));
	p[64] = static_cast<char>(0xab);
	EXPECT_EQ(validate(cache), 2u) << reports_.text();
	EXPECT_EQ(validate(cache), 0u) << reports_.text();
}

TEST_F(KunitTest, test_kmalloc_redzone_access)
{
	struct slab_cache *cache = cache_of_size(32);
	flagged on(cache, SLAB_STORE_USER | SLAB_RED_ZONE);
	char *p = hidden(slab_malloc(18));

	p[18] = static_cast<char>(0xab);
	p[19] = static_cast<char>(0xab);
	EXPECT_EQ(validate(cache), 2u) << reports_.text();
	slab_mfree(p);
	EXPECT_EQ(validate(cache), 0u) << reports_.text();
}

TEST_F(KunitTest, test_leak_destroy)
{
	test_cache cache(64);
	void *p = slab_alloc(cache);

	EXPECT_EQ(cache.destroy(), -EBUSY);
	EXPECT_EQ(errors() + lines_with(reports_.text(), "Object 0x"), 2u) << reports_.text();
	slab_free(cache, p);
}

/*
 * slab_realloc() does not zero what an object grows by; the red zone follows the
 * size all the same. The sizes are those that stay in one of our size classes.
 */
TEST_F(KunitTest, test_krealloc_redzone_zeroing)
{
	struct slab_cache *cache = cache_of_size(64);
	flagged on(cache, SLAB_STORE_USER | SLAB_RED_ZONE);
	char *p = hidden(slab_malloc(58));

	std::memset(p, 0xff, 58);
	EXPECT_TRUE(all_bytes(p + 58, 6, 0xcc));

	ASSERT_EQ(slab_realloc(p, 50), p);
	EXPECT_TRUE(all_bytes(p, 50, 0xff));
	EXPECT_TRUE(all_bytes(p + 50, 14, 0xcc));

	ASSERT_EQ(slab_realloc(p, 62), p);
	EXPECT_TRUE(all_bytes(p, 50, 0xff));
	EXPECT_TRUE(all_bytes(p + 62, 2, 0xcc));
	std::memset(p, 0xff, 62);
	EXPECT_EQ(validate(cache), 0u) << reports_.text();

	p = hidden(slab_realloc(p, 112));
	EXPECT_TRUE(all_bytes(p, 62, 0xff));
	EXPECT_EQ(validate(cache), 0u) << reports_.text();
	slab_mfree(p);
}

/* --- test_kfree_rcu, test_kfree_rcu_wq_destroy -------------------------------------- */

struct slab_cache *create_with_rcu()
{
	struct slab_cache_args args = {};

	args.rcu = &urcu_bp_flavor;
	return slab_cache_create("TestSlub_kfree_rcu", 64, &args, 0);
}

TEST_F(KunitTest, test_kfree_rcu)
{
	struct slab_cache *cache = create_with_rcu();

	ASSERT_NE(cache, nullptr);
	slab_free_rcu(cache, slab_alloc(cache));
	EXPECT_EQ(slab_cache_destroy(cache), 0);
	EXPECT_EQ(reports_.count(), 0u) << reports_.text();
}

TEST_F(KunitTest, test_kfree_rcu_wq_destroy)
{
	for (unsigned i = 0; i < 10; i++) {
		struct slab_cache *cache = create_with_rcu();
		int destroyed = -1;

		ASSERT_NE(cache, nullptr);
		slab_free_rcu(cache, slab_alloc(cache));
		usleep(i * 2500);
		std::thread([&] { destroyed = slab_cache_destroy(cache); }).join();
		EXPECT_EQ(destroyed, 0);
	}
	EXPECT_EQ(reports_.count(), 0u) << reports_.text();
}

/* --- test_kmalloc_kfree_nolock -------------------------------------------------- */

constexpr std::size_t nolock_size = 64;
constexpr int nolock_loops = 1000, nolock_objects = 1000; /* as many as fit into a long array */

/* The object that passes from handler to handler, and how often they ran. */
volatile std::sig_atomic_t nolock_calls;
void *nolock_held;

/* Alternately allocates and frees, as the kernel's handler does. */
void allocate_in_handler(int)
{
	nolock_calls = nolock_calls + 1;
	if (nolock_held) {
		slab_mfree(nolock_held);
		nolock_held = nullptr;
	} else {
		nolock_held = slab_malloc(nolock_size);
	}
}

/*
 * Only fast paths are async-signal-safe, and only restartable sequences have
 * them: the other engines, every debug flag, and a miss take locks that the
 * interrupted code may hold, and the handler would wait for ever. So this is
 * without debug flags and on that engine alone; the cache is warm, its one
 * thread stays on one CPU, and the CPU's array has room for all objects.
 */
TEST_F(KunitTest, test_kmalloc_kfree_nolock)
{
	if (std::strcmp(slab_engine(), "rseq") != 0)
		GTEST_SKIP() << "handlers must not allocate with engine " << slab_engine();
	struct slab_cache *cache = cache_of_size(nolock_size);
	void *objs[nolock_objects];

	const auto loop = [&objs] {
		for (void *&obj : objs)
			obj = slab_malloc(nolock_size);
		for (void *obj : objs)
			slab_mfree(obj);
	};

	ASSERT_GT(cpu_array_room(true), nolock_objects + 1u);
	set_array_length(cache, cpu_array_room(true));
	pin(0);
	loop();
	loop();
	{
		interruptions often(5000, allocate_in_handler);

		for (int i = 0; i < nolock_loops; i++)
			loop();
	}
	slab_mfree(nolock_held);
	nolock_held = nullptr;
	unpin();
	EXPECT_GT(nolock_calls, 0);
	EXPECT_EQ(validate(cache), 0u) << reports_.text();
	EXPECT_EQ(stats_of(cache).objects, 0u);
}

} /* namespace */
