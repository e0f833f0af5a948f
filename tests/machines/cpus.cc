/* SPDX-License-Identifier: MIT */
/*
 * CPUs that come and go while threads allocate. The machine starts with two. A line
 * "machine: add N" or "machine: remove N" on the console has machines.py plug or unplug CPU N.
 * QEMU's emulator can start as many CPUs as the machine may have, so each is plugged once.
 */
#include "../support/cpus.h"
#include "../support/objects.h"
#include "../support/rooms.h"

namespace
{

constexpr int first_more = 2, cpus = 8;
constexpr std::size_t entry_size = 240;

std::string folder_of(int cpu)
{
	return "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
}

void ask(const char *what, int cpu)
{
	std::ofstream("/dev/console") << "machine: " << what << ' ' << cpu << std::endl;
}

void wait_for(const std::function<bool()> &holds)
{
	while (!holds())
		std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

void set_online(int cpu, bool online)
{
	std::ofstream file(folder_of(cpu) + "/online");

	file << online << std::flush;
	EXPECT_TRUE(file.good()) << "CPU " << cpu << (online ? " on" : " off");
}

void add(int cpu)
{
	ask("add", cpu);
	wait_for([cpu] { return access((folder_of(cpu) + "/online").c_str(), W_OK) == 0; });
	set_online(cpu, true);
}

void remove_cpu(int cpu)
{
	ask("remove", cpu);
	wait_for([cpu] { return access(folder_of(cpu).c_str(), F_OK) != 0; });
}

class CpusTest : public testing::Test
{
protected:
	CpusTest()
	{
		for (unsigned i = 0; i < 8; i++)
			threads_.emplace_back([this, i] { work(i); });
	}

	~CpusTest() override
	{
		stop_ = true;
		join_all(threads_);
	}

	/* Each thread did this number of rounds more. */
	void let_work(unsigned rounds)
	{
		for (auto &done : done_) {
			const unsigned enough = done + rounds;

			wait_for([&] { return done - enough < 1U << 31; });
		}
	}

	/* Objects in the arrays of the CPUs that were added, and seen there since the start. */
	unsigned left_behind() const
	{
		unsigned n = 0;

		for (int cpu = first_more; cpu < cpus; cpu++)
			n += cpu_array_count(cpu_array(cache()->own_arrays, cpu));
		return n;
	}

	struct slab_cache *cache() const { return cache_; }

private:
	/* Objects have their owner's pattern from the allocation to the free. */
	void work(unsigned self)
	{
		std::mt19937 random(self);
		std::vector<std::pair<void *, std::uint64_t>> held;

		while (!stop_) {
			const std::uint64_t seed = (std::uint64_t{self} << 56) + done_[self];

			for (std::size_t most = random() % 300; held.size() < most;) {
				held.emplace_back(slab_alloc(cache_), seed + held.size());
				ASSERT_NE(held.back().first, nullptr);
				fill(held.back().first, entry_size, held.back().second);
			}
			for (std::size_t most = random() % 300; held.size() > most; held.pop_back())
				put(held.back());
			done_[self]++;
		}
		for (const auto &object : held)
			put(object);
	}

	void put(const std::pair<void *, std::uint64_t> &object)
	{
		ASSERT_TRUE(intact(object.first, entry_size, object.second)) << "two owners";
		slab_free(cache_, object.first);
	}

	test_cache cache_{entry_size};
	std::atomic<bool> stop_{false};
	std::array<std::atomic<unsigned>, 8> done_{};
	std::vector<std::thread> threads_;
};

TEST_F(CpusTest, NothingStaysWithCpusThatLeft)
{
	std::mt19937 random(1);
	unsigned most = 0;

	std::array<bool, cpus> online{};

	for (int cpu = first_more; cpu < cpus; cpu++) {
		add(cpu);
		online[static_cast<std::size_t>(cpu)] = true;
		let_work(5);
	}
	for (int i = 0; i < 40; i++) {
		const int cpu = first_more + static_cast<int>(random() % (cpus - first_more));
		bool &now = online[static_cast<std::size_t>(cpu)];

		set_online(cpu, now = !now);
		let_work(5);
		most = std::max(most, left_behind());
	}
	for (int cpu = cpus - 1; cpu >= first_more; cpu--) {
		remove_cpu(cpu);
		let_work(5);
	}
	EXPECT_GT(most, 0U) << "no CPU that was added has been used";
	wait_for([this] { return slab_maintain() >= 0 && left_behind() == 0; });
	std::printf("row: up to %u objects in arrays of the CPUs that were added, 0 in the end\n",
		    most);
	EXPECT_EQ(slab_cache_validate(cache()), 0);
}

} /* namespace */
