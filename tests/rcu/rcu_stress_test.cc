/* SPDX-License-Identifier: MIT */
/*
 * Readers that look at objects which writers free, for as long as SLAB_STRESS_SECONDS
 * says. A reader within a section must see an object as it was, or, in a type-safe
 * cache, an object of the same type. And the same with a flavour that does not wait:
 * there the readers must notice, or they would not notice anything.
 */
#include <urcu/call-rcu.h>

#include "../support/debugging.h"
#include "../support/flavours.h"

namespace
{

using steady = std::chrono::steady_clock;

const struct rcu_flavor_struct *const flavours[] = {&urcu_memb_flavor, &urcu_mb_flavor,
						    &urcu_qsbr_flavor, &urcu_bp_flavor};

steady::duration run_time()
{
	const char *seconds = std::getenv("SLAB_STRESS_SECONDS");

	return std::chrono::duration_cast<steady::duration>(
		std::chrono::duration<double>(seconds ? std::atof(seconds) : 1.0));
}

/* --- a flavour without grace periods ------------------------------------------------ */

/* Calls back at once, in a thread of its own. */
class impatient
{
public:
	static impatient &instance()
	{
		static impatient *one = new impatient; /* until the process ends */

		return *one;
	}
	static const struct rcu_flavor_struct *flavour()
	{
		static const struct rcu_flavor_struct flavour = [] {
			struct rcu_flavor_struct copy = urcu_memb_flavor;

			copy.update_synchronize_rcu = [] {};
			copy.update_call_rcu = [](struct rcu_head *head,
						  void (*func)(struct rcu_head *)) {
				instance().add([head, func] { func(head); });
			};
			return copy;
		}();

		return &flavour;
	}

private:
	impatient()
	{
		std::thread([this] { run(); }).detach();
	}
	void add(std::function<void()> call)
	{
		{
			std::lock_guard<std::mutex> lock(mutex);

			calls.push_back(std::move(call));
		}
		changed.notify_one();
	}
	void run()
	{
		std::unique_lock<std::mutex> lock(mutex);

		for (;;) {
			changed.wait(lock, [this] { return !calls.empty(); });

			std::vector<std::function<void()>> now;

			now.swap(calls);
			lock.unlock();
			for (auto &call : now)
				call();
			lock.lock();
		}
	}

	std::mutex mutex;
	std::condition_variable changed;
	std::vector<std::function<void()>> calls;
};

/* --- objects ---------------------------------------------------------------------------- */

struct object {
	std::atomic<std::uint64_t> type;
	std::atomic<std::uint64_t> key, check; /* check is ~key */
	char rest[72];
};

constexpr std::uint64_t type_ours = 0x6f757273, type_theirs = 0x7468656972;

int construct(void *memory, void *type)
{
	static_cast<object *>(memory)->type = reinterpret_cast<std::uintptr_t>(type);
	return 0;
}

void destruct(void *memory, void *)
{
	static_cast<object *>(memory)->type = 0;
}

constexpr std::size_t entries = 512;

class RcuStress : public testing::Test
{
protected:
	std::atomic<object *> table[entries] = {};
	std::atomic<bool> stop{false};
	std::atomic<std::uint64_t> looked{0}, foreign{0};

	/* Readers and writers on all entries until the time is over and readers have seen
	 * a thousand objects, or `enough`. */
	template <typename Writer, typename Reader>
	void run(const struct rcu_flavor_struct *rcu, Writer write, Reader read,
		 const std::function<bool()> &enough)
	{
		const steady::time_point end = steady::now() + run_time();
		const std::uint64_t looks = looked + 1000;
		std::vector<std::thread> threads;

		for (unsigned t = 0; t < 2; t++)
			threads.emplace_back([&, t] {
				rcu->register_thread();
				for (std::uint64_t i = t; !stop; i += 2) {
					write(i);
					rcu->read_quiescent_state();
				}
				rcu->unregister_thread();
			});
		for (unsigned t = 0; t < 2; t++)
			threads.emplace_back([&, t] {
				rcu->register_thread();
				for (std::uint64_t i = t; !stop; i += 7) {
					rcu->read_lock();
					read(table[i % entries].load());
					rcu->read_unlock();
					rcu->read_quiescent_state();
				}
				rcu->unregister_thread();
			});
		while ((steady::now() < end || looked < looks) && !enough())
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
		stop = true;
		join_all(threads);
	}

	/* An object with a new key takes the place of another; which is returned. */
	object *replace(struct slab_cache *cache, std::uint64_t key)
	{
		auto *fresh = static_cast<object *>(slab_alloc(cache));

		fresh->key = key;
		fresh->check = ~key;
		return table[key % entries].exchange(fresh);
	}

	template <typename Free> void clear(Free free)
	{
		for (auto &entry : table)
			free(entry.exchange(nullptr));
	}
};

/* Long enough for others to free it, and to use its memory again. */
void dwell(std::uint64_t n)
{
	if (n % 16 == 0)
		std::this_thread::yield();
	for (unsigned i = 0; i < n % 64; i++)
		std::atomic_signal_fence(std::memory_order_seq_cst);
}

class DeferredStress : public RcuStress
{
protected:
	void stress(const struct rcu_flavor_struct *rcu, const std::function<bool()> &enough)
	{
		struct slab_cache_args args = {};

		args.rcu = rcu;

		struct slab_cache *cache = slab_cache_create("entry", sizeof(object), &args, 0);

		run(
			rcu, [&](std::uint64_t i) { slab_free_rcu(cache, replace(cache, i)); },
			[&](const object *seen) { look(seen); }, enough);
		clear([&](object *entry) { slab_free_rcu(cache, entry); });
		EXPECT_EQ(slab_rcu_barrier(cache), 0);
		EXPECT_EQ(slab_cache_validate(cache), 0);
		EXPECT_EQ(slab_cache_destroy(cache), 0);
	}

private:
	void look(const object *seen)
	{
		if (!seen)
			return;

		const std::uint64_t key = seen->key;

		dwell(looked++);
		foreign += seen->key != key || seen->check != ~key;
	}
};

TEST_F(DeferredStress, ObjectsStayAsTheyWereForReaders)
{
	for (const struct rcu_flavor_struct *rcu : flavours) {
		stop = false;
		stress(rcu, [] { return false; });
		EXPECT_EQ(foreign, 0u);
	}
}

TEST_F(DeferredStress, ReadersNoticeAFlavourThatDoesNotWait)
{
	for (int tries = 0; tries < 100 && !foreign; tries++) {
		stop = false;
		stress(impatient::flavour(), [&] { return foreign > 0; });
	}
	EXPECT_GT(foreign, 0u);
}

class TypesafeStress : public RcuStress
{
protected:
	void stress(const struct rcu_flavor_struct *rcu, const std::function<bool()> &enough)
	{
		struct slab_cache *ours = create("ours", rcu, type_ours);
		struct slab_cache *theirs = create("theirs", rcu, type_theirs);
		std::thread shrinker([&] {
			rcu->register_thread();
			while (!stop) {
				slab_cache_shrink(ours);
				slab_cache_shrink(theirs);
				rcu->read_quiescent_state();
			}
			rcu->unregister_thread();
		});

		run(
			rcu, [&](std::uint64_t i) { churn(ours, theirs, i); },
			[&](const object *seen) { look(seen); }, enough);
		shrinker.join();
		clear([&](object *entry) { slab_free(ours, entry); });
		for (struct slab_cache *cache : {ours, theirs}) {
			EXPECT_EQ(slab_cache_validate(cache), 0);
			EXPECT_EQ(slab_cache_destroy(cache), 0);
		}
	}

private:
	static struct slab_cache *create(const char *name, const struct rcu_flavor_struct *rcu,
					 std::uint64_t type)
	{
		struct slab_cache_args args = {};

		args.rcu = rcu;
		args.ctor = construct;
		args.dtor = destruct;
		args.arg = reinterpret_cast<void *>(type);
		return slab_cache_create(name, sizeof(object), &args, SLAB_TYPESAFE_BY_RCU);
	}

	/* Now and then all entries go, so that slabs get empty and change their cache. */
	void churn(struct slab_cache *ours, struct slab_cache *theirs, std::uint64_t i)
	{
		object *old =
			i / entries % 4 ? replace(ours, i) : table[i % entries].exchange(nullptr);
		void *other = slab_alloc(theirs);

		if (old)
			slab_free(ours, old);
		slab_free(theirs, other);
	}

	void look(const object *seen)
	{
		if (!seen)
			return;
		dwell(looked++);
		foreign += seen->type != type_ours;
	}
};

TEST_F(TypesafeStress, ReadersNeverSeeAnotherType)
{
	for (const struct rcu_flavor_struct *rcu : flavours) {
		stop = false;
		stress(rcu, [] { return false; });
		EXPECT_EQ(foreign, 0u);
	}
}

TEST_F(TypesafeStress, ReadersNoticeAFlavourThatDoesNotWait)
{
	for (int tries = 0; tries < 100 && !foreign; tries++) {
		stop = false;
		stress(impatient::flavour(), [&] { return foreign > 0; });
	}
	EXPECT_GT(foreign, 0u);
}

/* --- caches that go while others look at all caches ------------------------------------------ */

std::atomic<long> constructed{0};

struct slab_cache *create_counted(unsigned t, const struct rcu_flavor_struct *rcu)
{
	struct slab_cache_args args = {};

	args.rcu = rcu;
	args.ctor = [](void *, void *) {
		constructed++;
		return 0;
	};
	args.dtor = [](void *, void *) { constructed--; };
	return slab_cache_create(("counted" + std::to_string(t)).c_str(), sizeof(object), &args,
				 SLAB_TYPESAFE_BY_RCU);
}

/* Several slabs, some of them empty, some owned, some waiting. */
void live_and_die(unsigned t, const struct rcu_flavor_struct *rcu)
{
	struct slab_cache *cache = create_counted(t, rcu);
	void *objects[300];

	ASSERT_NE(cache, nullptr);
	for (void *&object : objects)
		object = slab_alloc(cache);
	for (void *object : objects)
		slab_free(cache, object);
	rcu->read_quiescent_state();
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST(RcuCachesStress, ComeAndGoBesideTrimming)
{
	for (const struct rcu_flavor_struct *rcu : flavours) {
		const steady::time_point end = steady::now() + run_time();
		std::vector<std::thread> threads;

		constructed = 0;
		for (unsigned t = 0; t < 2; t++)
			threads.emplace_back([&, t] {
				rcu->register_thread();
				while (steady::now() < end)
					live_and_die(t, rcu);
				rcu->unregister_thread();
			});
		threads.emplace_back([&] {
			rcu->register_thread();
			while (steady::now() < end) {
				slab_trim();
				slab_maintain();
				rcu->read_quiescent_state();
			}
			rcu->unregister_thread();
		});
		join_all(threads);
		EXPECT_EQ(constructed, 0);
	}
}

} // namespace
