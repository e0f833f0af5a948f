/* SPDX-License-Identifier: MIT */
/*
 * Children in their parent's memory (vfork, posix_spawn, clone with CLONE_VM) beside threads
 * that allocate and free: no object is handed out twice. Each object says whether a thread
 * has it.
 */
#include "../support/process.h"

namespace
{

constexpr std::size_t held = 50;
/* ThreadSanitizer turns some of them into forks. */
constexpr unsigned children = under_tsan ? 10 : 200;

/* Zero in objects that the cache makes, and in those that were given back. */
struct entry {
	std::atomic<unsigned> taken;
	char more[56];
};

int make_entry(void *object, void *)
{
	new (object) entry{};
	return 0;
}

/* Takes objects and gives them back. Calls nothing but libslab. */
class user
{
public:
	explicit user(struct slab_cache *cache) : cache_(cache) {}

	void round()
	{
		for (entry *&e : entries_) {
			e = static_cast<entry *>(slab_alloc(cache_));
			twice_ += e->taken.exchange(1) != 0;
		}
		for (entry *e : entries_) {
			e->taken = 0;
			slab_free(cache_, e);
		}
	}

	unsigned twice() const { return twice_; }

private:
	struct slab_cache *cache_;
	entry *entries_[held] = {};
	unsigned twice_ = 0;
};

/* A child in our memory, on a stack of its own; we wait until it is gone. */
template <typename Body> bool run_in_our_memory(Body body)
{
	static char stack[1 << 16] __attribute__((aligned(16)));
	const auto start = [](void *arg) {
		(*static_cast<Body *>(arg))();
		_exit(0);
		return 0;
	};
	const pid_t child =
		clone(start, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &body);

	return child > 0 && child_failure(child).empty();
}

class VforkTest : public testing::Test
{
protected:
	VforkTest()
	{
		struct slab_cache_args args = {};

		args.ctor = make_entry;
		cache_ = slab_cache_create("entry", sizeof(entry), &args, 0);
	}

	~VforkTest() override
	{
		EXPECT_EQ(slab_cache_validate(cache_), 0);
		EXPECT_EQ(slab_cache_destroy(cache_), 0);
	}

	/* child() over and over, beside threads on every CPU: how often was an object handed
	 * out that another user had? */
	template <typename Child> unsigned run(unsigned count, Child child)
	{
		std::atomic<bool> stop{false};
		std::atomic<unsigned> twice{0}, working{0};
		std::vector<std::thread> threads;

		for (std::size_t i = 0; i < 2 * allowed_cpus().size(); i++)
			threads.emplace_back([&, i] {
				user self(cache_);

				pin(i);
				for (working++; !stop;)
					self.round();
				twice += self.twice();
			});
		while (working < threads.size())
			sched_yield();
		for (unsigned i = 0; i < count; i++) {
			pin(i);
			child(i);
		}
		stop = true;
		join_all(threads);
		return twice;
	}

	struct slab_cache *cache_;
};

TEST_F(VforkTest, AChildThatOnlyExitsDisturbsNoThread)
{
	EXPECT_EQ(run(children,
		      [](unsigned) {
			      /* NOLINTNEXTLINE(bugprone-unsafe-functions): what is tested */
			      const pid_t child = vfork();

			      if (child == 0)
				      _exit(0);
			      EXPECT_EQ(child_failure(child), "");
		      }),
		  0u);
}

TEST_F(VforkTest, ASpawnedProgramDisturbsNoThread)
{
	EXPECT_EQ(run(children / 2,
		      [](unsigned) {
			      char name[] = "true";
			      char *arguments[] = {name, nullptr};
			      pid_t child = 0;

			      ASSERT_EQ(posix_spawnp(&child, name, nullptr, nullptr, arguments,
						     environ),
					0);
			      EXPECT_EQ(child_failure(child), "");
		      }),
		  0u);
}

/* With rseq it may not: the kernel restarts no sequence in such a child, and gives it no CPU
 * number. */
TEST_F(VforkTest, AChildMayAllocateFromEnginesThatLock)
{
	if (under_tsan)
		GTEST_SKIP() << "in the child, ThreadSanitizer ends the records of all other "
				"threads, which the parent shares";
	unsigned twice = 0;

	if (std::strcmp(slab_engine(), "rseq") == 0)
		GTEST_SKIP() << "not with rseq";
	twice += run(children / 4, [&](unsigned i) {
		EXPECT_TRUE(run_in_our_memory([&] {
			user self(cache_);

			pin(i + 1);
			for (int n = 0; n < 20; n++)
				self.round();
			twice += self.twice();
		}));
	});
	EXPECT_EQ(twice, 0u);
}

} // namespace
