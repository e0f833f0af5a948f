/* SPDX-License-Identifier: MIT */
/* Limits that depend on the memory of the machine and of control groups, and the soft limit. */
#include "../support/folder.h"
#include "../support/objects.h"
#include "../support/process.h"
#include "../support/rooms.h"

namespace
{

constexpr std::size_t mib = 1 << 20;

class Machine : public testing::Test
{
protected:
	Machine()
	{
		mkdir(inner_.c_str(), 0700);
		group_set_directory(inner_.c_str());
	}

	~Machine() override { group_set_directory(nullptr); }

	static void write(const std::string &directory, const std::string &text)
	{
		std::ofstream(directory + "/memory.max") << text << "\n";
	}

	const folder files_;
	const std::string inner_ = files_.path + "/inner";
};

TEST_F(Machine, HasTheLeastOfItsGroupAndThoseAbove)
{
	const std::uint64_t all = machine_bytes();

	EXPECT_GT(all, 64 * mib);
	write(inner_, "max");
	EXPECT_EQ(machine_bytes(), all);
	write(inner_, std::to_string(64 * mib));
	EXPECT_EQ(machine_bytes(), 64 * mib);
	write(files_.path, std::to_string(32 * mib));
	EXPECT_EQ(machine_bytes(), 32 * mib);
	write(files_.path, "99999999999999999");
	EXPECT_EQ(machine_bytes(), 64 * mib);
}

TEST_F(Machine, LimitIsAPartOfItAndIsReadAgain)
{
	if (running_again()) {
		test_cache cache{1000};

		write(inner_, std::to_string(32 * mib));
		EXPECT_EQ(slab_limit(), 16 * mib / 100 * 100);
		write(inner_, std::to_string(96 * mib));
		usleep(1100000); /* files are read once a second */
		free_many(cache, alloc_many(cache, 30 * mib / 1000));
		EXPECT_NEAR(static_cast<double>(slab_limit()), 48.0 * mib, 100);
		EXPECT_EQ(slab_set_limit(20 * mib), 0);
		usleep(1100000);
		machine_look();
		EXPECT_EQ(slab_limit(), 20 * mib);
		_exit(HasFailure());
	}
	const second_run run = run_again({"SLAB_LIMIT=50%"});

	EXPECT_EQ(run.failure, "") << run.output;
}

/* --- the soft limit --------------------------------------------------------------------- */

unsigned told, asked;
std::size_t told_limit;

std::size_t forget(struct slab_cache *cache, void *arg)
{
	auto *held = static_cast<std::vector<void *> *>(arg);
	const std::size_t n = held->size();

	asked++;
	free_many(cache, *held);
	held->clear();
	return n;
}

/* Does a pass return units that were free for a moment? */
bool trims_before_the_decay_time()
{
	void *block = slab_malloc(mib);

	std::memset(block, 1, mib);
	slab_mfree(block);
	return segment_decay(decay_epoch() + 1) != 0;
}

TEST_F(Machine, SoftLimitActsBeforeAnythingFails)
{
	if (running_again()) {
		std::vector<void *> held;
		struct slab_cache_args args = {};

		args.reclaim = forget;
		args.arg = &held;
		struct slab_cache *cached = slab_cache_create("cached", 1000, &args, 0);
		test_cache other{1000};

		slab_set_limit_handler(
			[](struct slab_cache *, std::size_t limit, const char *, void *) {
				told++;
				told_limit = limit;
			},
			nullptr);
		held = alloc_many(cached, 8 * mib / 1000);
		EXPECT_EQ(told + asked, 0u);
		std::vector<void *> objs = alloc_many(other, 10 * mib / 1000);

		EXPECT_EQ(told, 1u);
		EXPECT_EQ(told_limit, 16 * mib);
		EXPECT_EQ(asked, 1u);
		EXPECT_LT(account_resident(), 16 * mib);
		EXPECT_FALSE(trims_before_the_decay_time());
		std::vector<void *> more = alloc_many(other, 10 * mib / 1000);

		EXPECT_TRUE(trims_before_the_decay_time());
		free_many(other, more);
		free_many(other, objs);
		EXPECT_EQ(slab_cache_destroy(cached), 0);
		_exit(HasFailure());
	}
	const second_run run = run_again({"SLAB_SOFT_LIMIT=16m"});

	EXPECT_EQ(run.failure, "") << run.output;
}

/* Passes see that it has. */
TEST_F(Machine, SoftLimitActsAgainWhenAProcessThatHasShrunkGrows)
{
	if (running_again()) {
		struct slab_cache_args args = {};
		test_cache other{1000};

		args.reclaim = [](struct slab_cache *, void *) {
			asked++;
			return std::size_t{0};
		};
		struct slab_cache *cached = slab_cache_create("cached", 1000, &args, 0);
		void *held = slab_alloc(cached);

		free_many(other, alloc_many(other, 40 * mib / 1000));
		EXPECT_GT(asked, 0u);
		for (unsigned i = 0; i < 500 && slab_pages.soft_from > 16 * mib; i++)
			usleep(10000);
		EXPECT_EQ(slab_pages.soft_from, 16 * mib);
		asked = 0;
		free_many(other, alloc_many(other, 20 * mib / 1000));
		EXPECT_GT(asked, 0u);
		slab_free(cached, held);
		EXPECT_EQ(slab_cache_destroy(cached), 0);
		_exit(HasFailure());
	}
	const second_run run = run_again({"SLAB_SOFT_LIMIT=16m", "SLAB_DECAY_MS=50"});

	EXPECT_EQ(run.failure, "") << run.output;
}

} /* namespace */
