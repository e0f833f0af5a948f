/* SPDX-License-Identifier: MIT */
/*
 * The table of docs/hunting-corruption.md: which wrong frees are seen by which means. Each
 * cell is a child process that frees wrongly; what becomes of it is compared with the table.
 */
#include <urcu-bp.h>

#include "../support/objects.h"
#include "../support/process.h"
#include "../support/reports.h"
#include "../support/rooms.h"

namespace
{

/* What becomes of a free. Late: it is reported when free objects return to their slabs. */
enum class fate { unseen, reported, late, crash, any };

std::ostream &operator<<(std::ostream &out, fate f)
{
	static const char *const names[] = {"unseen", "reported", "late", "crash", "any"};

	return out << names[static_cast<int>(f)];
}

constexpr std::size_t object_size = 64;

report_capture *captured; /* the child's */

void free_hidden(struct slab_cache *cache, void *obj)
{
	void *volatile hidden = obj;

	slab_free(cache, hidden);
}

/* Until the first report: one is enough, and each takes its time. */
void free_in_turns(struct slab_cache *cache, void *a, void *b)
{
	for (int i = 0; i < 5000 && !captured->count(); i++)
		free_hidden(cache, i % 2 ? a : b);
}

/* The wrong frees. Each gets a cache and may allocate from it. */

void twice_in_a_row(struct slab_cache *cache)
{
	void *obj = slab_alloc(cache);

	free_hidden(cache, obj);
	free_hidden(cache, obj);
}

/* With arrays of which the one in use has been full. */
void twice_in_a_row_to_a_full_array(struct slab_cache *cache)
{
	std::vector<void *> objs = alloc_many(cache, 2 * CPU_ARRAY_MAX);

	for (std::size_t i = 0; i < objs.size() / 2; i++)
		free_hidden(cache, objs[i]);
	free_hidden(cache, objs.back());
	free_hidden(cache, objs.back());
}

void after_another_one(struct slab_cache *cache)
{
	std::vector<void *> objs = alloc_many(cache, 4);

	for (int i : {0, 1, 2, 1})
		free_hidden(cache, objs[static_cast<std::size_t>(i)]);
}

void in_turns_without_end(struct slab_cache *cache)
{
	std::vector<void *> objs = alloc_many(cache, 4);

	free_hidden(cache, objs[0]);
	free_in_turns(cache, objs[1], objs[2]);
}

/* The first objects are of a full slab. */
std::vector<void *> alloc_full(struct slab_cache *cache)
{
	return alloc_many(cache, 1100);
}

void twice_in_a_row_to_a_full_slab(struct slab_cache *cache)
{
	std::vector<void *> objs = alloc_full(cache);

	free_hidden(cache, objs[1]);
	free_hidden(cache, objs[1]);
}

void after_another_one_of_a_full_slab(struct slab_cache *cache)
{
	std::vector<void *> objs = alloc_full(cache);

	for (int i : {1, 2, 1})
		free_hidden(cache, objs[static_cast<std::size_t>(i)]);
}

void in_turns_to_a_full_slab(struct slab_cache *cache)
{
	std::vector<void *> objs = alloc_full(cache);

	free_in_turns(cache, objs[1], objs[2]);
}

void by_another_cpu(struct slab_cache *cache)
{
	std::vector<void *> objs = alloc_many(cache, 4);

	free_hidden(cache, objs[1]);
	std::thread([&] {
		pin(1);
		free_hidden(cache, objs[1]);
	}).join();
}

/* The fast path does not look. Only the second free takes it. */
void into_an_object(struct slab_cache *cache)
{
	slab_free(cache, slab_alloc(cache));
	free_hidden(cache, static_cast<char *>(slab_alloc(cache)) + 8);
}

void of_another_cache(struct slab_cache *cache)
{
	free_hidden(cache, slab_alloc(slab_cache_create("another", object_size, nullptr, 0)));
}

/* The free takes away what another part of the program has: nothing tells it from that part's
 * free. */
void of_an_object_that_is_in_use_again(struct slab_cache *cache)
{
	void *obj = slab_alloc(cache);

	free_hidden(cache, obj);
	for (int i = 0; i < 200 && slab_alloc(cache) != obj; i++)
		;
	free_hidden(cache, obj);
}

void to_a_destroyed_cache(struct slab_cache *cache)
{
	struct slab_cache *gone = slab_cache_create("gone", object_size, nullptr, 0);
	void *obj = slab_alloc(cache);

	slab_cache_destroy(gone);
	free_hidden(gone, obj);
}

void of_a_slab_that_went(struct slab_cache *cache)
{
	void *obj = slab_alloc(cache);

	free_hidden(cache, obj);
	slab_cache_shrink(cache);
	free_hidden(cache, obj);
}

void of_the_stack(struct slab_cache *cache)
{
	alignas(64) char local[128] = {};

	free_hidden(cache, local + 64);
}

void of_malloc(struct slab_cache *cache)
{
	free_hidden(cache, std::malloc(100));
}

void of_a_global(struct slab_cache *cache)
{
	alignas(64) static char global[128];

	free_hidden(cache, global + 64);
}

void of_a_wild_pointer(struct slab_cache *cache)
{
	free_hidden(cache, reinterpret_cast<void *>(std::uintptr_t{0x123456789000}));
}

void far_into_a_mapping(struct slab_cache *cache)
{
	constexpr std::size_t mib = 1 << 20;
	char *memory = static_cast<char *>(slab_malloc(40 * mib));

	free_hidden(cache, memory + 20 * mib);
}

/* The deferred free first: until the grace period is over, the object is not on a freelist. */
void deferred_and_at_once(struct slab_cache *cache)
{
	void *obj = slab_alloc(cache);

	slab_free_rcu(cache, obj);
	free_hidden(cache, obj);
	slab_rcu_barrier(cache);
}

void at_once_and_deferred(struct slab_cache *cache)
{
	void *obj = slab_alloc(cache);

	free_hidden(cache, obj);
	slab_free_rcu(cache, obj);
	slab_rcu_barrier(cache);
}

/* A kind of free, and its row of the table. */
struct row {
	const char *name;
	void (*act)(struct slab_cache *);
	enum fate nothing, harden, flags, sampled;
	/* What the engines without a fast path see with nothing: they look at each free. */
	enum fate other_engines;
};

constexpr enum fate R = fate::reported, L = fate::late, U = fate::unseen, A = fate::any;
/* ThreadSanitizer has memory at most addresses. */
constexpr enum fate C = under_tsan ? A : fate::crash;

const row rows[] = {
	{"twice in a row", twice_in_a_row, R, R, R, R, R},
	{"twice in a row, full array", twice_in_a_row_to_a_full_array, R, R, R, R, R},
	{"again after another object", after_another_one, L, R, R, R, L},
	{"two in turns, without end", in_turns_without_end, R, R, R, R, R},
	{"of a full slab, twice in a row", twice_in_a_row_to_a_full_slab, R, R, R, R, R},
	{"of a full slab, after another", after_another_one_of_a_full_slab, L, R, R, R, L},
	{"of a full slab, in turns", in_turns_to_a_full_slab, R, R, R, R, R},
	{"again on another CPU", by_another_cpu, L, R, R, R, L},
	{"pointer into an object", into_an_object, L, R, R, R, R},
	{"object in use again", of_an_object_that_is_in_use_again, U, U, R, R, U},
	{"object of another cache", of_another_cache, R, R, R, R, R},
	{"to a destroyed cache", to_a_destroyed_cache, R, R, R, R, R},
	{"object whose slab went back", of_a_slab_that_went, R, R, R, R, R},
	{"pointer to the stack", of_the_stack, A, R, R, R, A},
	{"pointer from malloc()", of_malloc, A, R, R, R, A},
	{"pointer to a global", of_a_global, A, R, R, R, A},
	{"wild pointer", of_a_wild_pointer, C, R, R, R, C},
	{"far into a mapping", far_into_a_mapping, A, R, R, R, A},
	{"deferred and at once", deferred_and_at_once, L, R, R, R, L},
	{"at once and deferred", at_once_and_deferred, L, R, R, R, L},
};

/* In a child, on one CPU. */
enum fate fate_of(void (*act)(struct slab_cache *), std::uint64_t flags, unsigned long interval)
{
	finish_before_fork();
	const pid_t child = fork();
	int status = 0;

	if (child == 0) {
		pin(0);
		signal(SIGSEGV, SIG_DFL);
		static report_capture reports;
		captured = &reports;
		static struct slab_cache_args args;
		args.rcu = &urcu_bp_flavor;
		static test_cache cache(object_size, flags, &args);

		if (interval)
			slab_cache_sample(cache, interval);
		act(cache);
		if (reports.count())
			_exit(static_cast<int>(fate::reported));
		slab_cache_shrink(cache);
		_exit(static_cast<int>(reports.count() ? fate::late : fate::unseen));
	}
	EXPECT_EQ(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status))
		return fate::crash;
	return static_cast<enum fate>(WEXITSTATUS(status));
}

using WrongFreeTest = testing::Test;

class EachWrongFreeTest : public testing::Test
{
protected:
	static void expect(const row &r, enum fate wanted, std::uint64_t flags,
			   unsigned long interval = 0)
	{
		const enum fate got = fate_of(r.act, flags, interval);

		if (r.act == by_another_cpu && allowed_cpus().size() < 2)
			return;
		if (wanted == fate::any)
			EXPECT_NE(got, fate::unseen) << r.name;
		else
			EXPECT_EQ(got, wanted) << r.name;
	}
};

TEST_F(EachWrongFreeTest, WithNothing)
{
	for (const row &r : rows)
		expect(r, std::string(slab_engine()) == "rseq" ? r.nothing : r.other_engines, 0);
}

TEST_F(EachWrongFreeTest, WithHardenFree)
{
	for (const row &r : rows)
		expect(r, r.harden, SLAB_HARDEN_FREE);
}

TEST_F(EachWrongFreeTest, WithEachDebugFlag)
{
	for (std::uint64_t flag :
	     {SLAB_CONSISTENCY_CHECKS, SLAB_RED_ZONE, SLAB_POISON, SLAB_STORE_USER})
		for (const row &r : rows)
			expect(r, r.flags, flag);
}

TEST_F(EachWrongFreeTest, OfSampledObjects)
{
	for (const row &r : rows)
		expect(r, r.sampled, 0, 1);
}

/* SLAB_HARDEN=on is the flag for all caches. */
TEST_F(EachWrongFreeTest, TheEnvironmentHardensEveryCache)
{
	if (!in_environment({"SLAB_HARDEN=on"}))
		return;
	for (const row &r : rows)
		expect(r, r.harden, 0);
	EXPECT_EQ(stats_of(test_cache(object_size)).flags & SLAB_HARDEN_FREE, SLAB_HARDEN_FREE);
}

/* Correct programs are not accused: the same objects again and again, by two CPUs. */
TEST_F(WrongFreeTest, CorrectFreesOfHardenedCachesAreNotReported)
{
	report_capture reports;
	test_cache cache(object_size, SLAB_HARDEN_FREE);
	std::vector<std::thread> threads;

	for (unsigned t = 0; t < 4; t++)
		threads.emplace_back([&cache] {
			std::vector<void *> objs;

			for (unsigned i = 0; i < 20000; i++) {
				objs.push_back(slab_alloc(cache));
				if (i % 7 == 6) {
					for (void *obj : objs)
						slab_free(cache, obj);
					objs.clear();
				}
			}
			for (void *obj : objs)
				slab_free(cache, obj);
		});
	for (int i = 0; i < 20; i++)
		slab_cache_shrink(cache);
	join_all(threads);
	EXPECT_EQ(reports.count(), 0u) << reports.text();
	EXPECT_EQ(stats_of(cache).objects, 0u);
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

} /* namespace */
