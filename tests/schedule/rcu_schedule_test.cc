/* SPDX-License-Identifier: MIT */
/*
 * Grace periods under the scheduler, with a flavour of this file: a grace period waits for the
 * sections that began before it, and a thread of the test calls what call_rcu() queued.
 */
#include "scene.h"

namespace
{

class flavour_under_schedule
{
public:
	flavour_under_schedule()
	{
		functions_.read_ongoing = [] { return in_section ? 1 : 0; };
		functions_.update_call_rcu = [](struct rcu_callback *callback,
						void (*func)(struct rcu_callback *)) {
			callback->func = func;
			queue.push_back({callback, now++});
			schedule_point();
		};
		functions_.update_synchronize_rcu = [] { wait_for_readers(now++); };
		functions_.thread_offline = functions_.thread_online = [] {};
		queue.clear();
		sections.clear();
		users = 0;
	}

	const struct rcu_flavor_struct *get() const
	{
		return reinterpret_cast<const struct rcu_flavor_struct *>(&functions_);
	}

	static void lock()
	{
		in_section = now++;
		sections.insert(in_section);
		schedule_point();
	}

	static void unlock()
	{
		sections.erase(in_section);
		in_section = 0;
		schedule_point();
	}

	/* A thread that uses the flavour: the thread of callbacks ends after all of them. */
	static std::function<void()> user(const std::function<void()> &act)
	{
		users++;
		return [act] {
			act();
			users--;
		};
	}

	static void call_callbacks()
	{
		for (;;) {
			schedule_until([] { return !queue.empty() || !users; });
			if (queue.empty())
				return;
			const auto [callback, queued] = queue.front();
			bool others_went_on = false;

			queue.pop_front();
			wait_for_readers(queued);
			schedule_until([&] { return std::exchange(others_went_on, true); });
			callback->func(callback);
		}
	}

private:
	static void wait_for_readers(std::uint64_t before)
	{
		schedule_point();
		schedule_until([before] { return sections.empty() || *sections.begin() > before; });
	}

	static std::deque<std::pair<struct rcu_callback *, std::uint64_t>> queue;
	static std::set<std::uint64_t> sections;
	static std::uint64_t now;
	static unsigned users;
	static thread_local std::uint64_t in_section;
	struct rcu_functions functions_ = {};
};

std::deque<std::pair<struct rcu_callback *, std::uint64_t>> flavour_under_schedule::queue;
std::set<std::uint64_t> flavour_under_schedule::sections;
std::uint64_t flavour_under_schedule::now = 1;
unsigned flavour_under_schedule::users;
thread_local std::uint64_t flavour_under_schedule::in_section;

/* A cache with a table of objects: writers exchange them, readers look at them. */
class table
{
public:
	/* Arrays of waiting objects have this length; with 0, each free joins a phase itself. */
	explicit table(unsigned length, std::uint64_t backlog = 100000, std::uint64_t flags = 0)
	{
		args_.rcu = flavour_.get();
		all_ = std::make_unique<arena>(4, &args_, flags);
		cache()->rcu_max = length;
		cache()->rcu->backlog = backlog;
	}

	~table()
	{
		for (void *obj : places_)
			if (obj)
				all_->free(obj);
	}

	struct slab_cache *cache() const { return all_->cache(); }

	arena &objects() { return *all_; }

	void write(unsigned steps)
	{
		for (unsigned i = 0; i < steps; i++) {
			void *&place = places_[schedule_random(places_.size())];
			void *fresh = all_->alloc(), *old = place;

			place = fresh;
			schedule_point();
			if (old)
				unlinked(old);
		}
	}

	void read(unsigned steps)
	{
		for (unsigned i = 0; i < steps; i++) {
			flavour_under_schedule::lock();
			void *obj = places_[schedule_random(places_.size())];
			std::uint64_t mark = 0;

			if (obj)
				std::memcpy(&mark, obj, sizeof(mark));
			for (unsigned k = schedule_random(6); k; k--)
				schedule_point();
			if (obj) {
				EXPECT_EQ(std::memcmp(&mark, obj, sizeof(mark)), 0)
					<< "an object was used again while a reader looks";
			}
			flavour_under_schedule::unlock();
		}
	}

	/* The objects that were freed before are free when it returns. */
	void barrier()
	{
		const std::uint64_t before = freed_;

		EXPECT_EQ(slab_rcu_barrier(cache()), 0);
		EXPECT_GE(cache()->memory.rcu_freed, before) << "objects still wait";
	}

	void unlinked(void *obj)
	{
		all_->give_up(obj);
		slab_free_rcu(cache(), obj);
		freed_++;
	}

private:
	flavour_under_schedule flavour_;
	struct slab_cache_args args_ = {};
	std::unique_ptr<arena> all_;
	std::array<void *, 8> places_ = {};
	std::uint64_t freed_ = 0;
};

const auto user = flavour_under_schedule::user;
const auto callbacks = flavour_under_schedule::call_callbacks;

TEST(RcuScheduleTest, ReadersSeeNoObjectThatIsUsedAgain)
{
	for_seeds(60, [](std::uint64_t seed) {
		table all(1 + static_cast<unsigned>(seed % 6));

		run_scheduled(seed, {user([&] { all.write(40); }), user([&] { all.write(40); }),
				     user([&] { all.read(30); }), callbacks});
		EXPECT_EQ(all.cache()->memory.rcu_pending, 0u);
		EXPECT_EQ(waiting_objects(all.cache()), 0u);
	});
}

TEST(RcuScheduleTest, ThreadsThatFreeManyHelp)
{
	for_seeds(60, [](std::uint64_t seed) {
		table all(4, 8);

		run_scheduled(seed, {user([&] { all.write(40); }), user([&] { all.write(40); }),
				     user([&] { all.read(30); }), callbacks});
		EXPECT_EQ(all.cache()->memory.rcu_pending, 0u);
	});
}

TEST(RcuScheduleTest, ABarrierWaitsForAllFrees)
{
	for_seeds(100, [](std::uint64_t seed) {
		table all(static_cast<unsigned>(seed % 4), seed % 8 < 4 ? 8 : 100000);

		run_scheduled(seed, {user([&] { all.write(30); }), user([&] { all.write(30); }),
				     user(repeat(6, [&] { all.barrier(); })), callbacks});
	});
}

/* Two threads free objects of one slab, and the second waits for its own. */
TEST(RcuScheduleTest, ABarrierWaitsForWhatJoinsAPhaseBesideOthers)
{
	for_plans(1, 500, [] {
		table all(0);
		void *objs[] = {all.objects().alloc(), all.objects().alloc()};

		run_scheduled(1, {user([&] { all.unlinked(objs[0]); }), user([&] {
					  all.unlinked(objs[1]);
					  all.barrier();
				  }),
				  callbacks});
	});
}

/* Beside closing, debug flags and release. */
TEST(RcuScheduleTest, WaitingObjectsKeepTheirSlabs)
{
	for_seeds(60, [](std::uint64_t seed) {
		table all(3, 8);
		struct slab_cache *cache = all.cache();
		const auto change = [&] {
			slab_cache_debug(cache, SLAB_CONSISTENCY_CHECKS);
			schedule_point();
			slab_cache_debug(cache, 0);
		};

		run_scheduled(seed, {user([&] { all.write(40); }), user([&] { all.write(40); }),
				     user(repeat(6, [&] { slab_cache_shrink(cache); })),
				     user(repeat(seed % 2, change)), callbacks});
	});
}

TEST(RcuScheduleTest, SlabsOfTypeSafeCachesWait)
{
	for_seeds(40, [](std::uint64_t seed) {
		table all(3, 8, SLAB_TYPESAFE_BY_RCU);
		struct slab_cache *cache = all.cache();

		run_scheduled(seed, {user([&] { all.objects().use(60, 30); }),
				     user([&] { all.objects().use(60, 30); }),
				     user(repeat(10, [&] { cache_release(cache, 0); })),
				     callbacks});
		EXPECT_EQ(cache->memory.rcu_pending, 0u);
	});
}

/* The callback of a destroyed cache comes later, or drives just then. */
TEST(RcuScheduleTest, CachesAreDestroyedBesideTheirCallbacks)
{
	for_seeds(60, [](std::uint64_t seed) {
		flavour_under_schedule flavour;
		const auto come_and_go = [&] {
			struct slab_cache_args args = {};

			args.rcu = flavour.get();
			struct slab_cache *cache =
				slab_cache_create("waits", object_size, &args, 0);

			for (int i = 0; i < 4; i++)
				slab_free_rcu(cache, slab_alloc(cache));
			EXPECT_EQ(slab_cache_destroy(cache), 0);
		};

		run_scheduled(seed, {user(repeat(4, come_and_go)), callbacks});
	});
}

/* Nobody flips meanwhile, so the library must find it. */
TEST(RcuScheduleTest, ADoubleFreeIsFoundWhereverTheObjectWaits)
{
	for_seeds(80, [](std::uint64_t seed) {
		table all(2);
		arena &objects = all.objects();
		struct slab_cache *cache = all.cache();
		std::vector<void *> objs;

		objects.expected_reports = 1;
		for (int i = 0; i < 12; i++) {
			objs.push_back(objects.alloc());
			objects.give_up(objs.back());
		}
		run_scheduled(seed, {user([&] {
					     for (void *obj : objs)
						     slab_free_rcu(cache, obj);
					     if (seed % 3 == 0)
						     slab_free(cache, objs[schedule_random(12)]);
					     else
						     slab_free_rcu(cache,
								   objs[schedule_random(12)]);
					     slab_rcu_barrier(cache);
					     cache_flush(cache);
				     }),
				     user(repeat(seed % 2, [&] { rcu_help(cache->rcu); })),
				     callbacks});
	});
}

} /* namespace */
