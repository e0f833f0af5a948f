/* SPDX-License-Identifier: MIT */
/*
 * Large machines and small containers: this program believes that 512 CPUs are
 * possible, and runs on those it is given.
 */
#include "../support/debugging.h"
#include "../support/flavours.h"

namespace
{

constexpr unsigned possible = 512, caches = 200;

/* Before the first cache. */
const bool believes = (cpu_set_possible(possible), true);

const std::uintptr_t page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));

/* The bytes of these pages, given by their numbers, that hold memory. */
std::size_t resident(const std::set<std::uintptr_t> &pages)
{
	std::size_t in_memory = 0;

	for (const std::uintptr_t number : pages) {
		unsigned char state = 0;

		EXPECT_EQ(mincore(reinterpret_cast<void *>(number * page), page, &state), 0);
		in_memory += state & 1;
	}
	return in_memory * page;
}

std::vector<int> allowed_cpus()
{
	cpu_set_t set;
	std::vector<int> cpus;

	sched_getaffinity(0, sizeof(set), &set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus.push_back(cpu);
	return cpus;
}

void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	ASSERT_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
}

/* Memory of its own, in kB, of the mapping that holds this address: what was only read
 * is the system's page of zeroes. */
std::size_t anonymous_kb(const void *address)
{
	const std::uintptr_t wanted = reinterpret_cast<std::uintptr_t>(address);
	std::ifstream smaps("/proc/self/smaps");
	bool inside = false;
	std::string line;

	while (std::getline(smaps, line)) {
		unsigned long start, end, kb;

		if (std::sscanf(line.c_str(), "%lx-%lx ", &start, &end) == 2)
			inside = start <= wanted && wanted < end;
		else if (inside && std::sscanf(line.c_str(), "Anonymous: %lu kB", &kb) == 1)
			return kb;
	}
	ADD_FAILURE() << "no such mapping";
	return 0;
}

/* What each of many caches takes that both CPUs use, besides their slabs. */
std::size_t bytes_per_cache(const struct slab_cache_args *args)
{
	std::vector<struct slab_cache *> made;
	std::set<std::uintptr_t> handles;

	for (unsigned i = 0; i < caches; i++) {
		const std::string name = "cache" + std::to_string(i);

		made.push_back(slab_cache_create(name.c_str(), 64 + 8 * i, args, 0));
		if (!made.back())
			throw std::bad_alloc();
	}
	for (int cpu : allowed_cpus())
		std::thread([&] {
			run_on(cpu);
			for (struct slab_cache *cache : made) {
				slab_free(cache, slab_alloc(cache));
				if (args)
					slab_free_rcu(cache, slab_alloc(cache));
			}
		}).join();
	for (const struct slab_cache *cache : made) {
		const auto start = reinterpret_cast<std::uintptr_t>(cache);

		for (std::uintptr_t n = start / page; n * page < start + sizeof(*cache); n++)
			handles.insert(n);
	}
	/* The handles, and the arrays of all caches. */
	const std::size_t bytes = resident(handles) + anonymous_kb(made.front()->own_arrays) * 1024;

	for (struct slab_cache *cache : made)
		EXPECT_EQ(slab_cache_destroy(cache), 0);
	return bytes / caches;
}

TEST(Machine, ACacheOf512PossibleCpusIsSmall)
{
	const std::size_t bytes = bytes_per_cache(nullptr);

	ASSERT_TRUE(believes);
	RecordProperty("bytes_per_cache", static_cast<int>(bytes));
	EXPECT_LE(bytes, 8192u);
}

/* It has arrays of its own for objects that wait; their rows are in the same area. */
TEST(Machine, ACacheWithAFlavourOf512PossibleCpusIsSmall)
{
	struct slab_cache_args args = {};

	args.rcu = &urcu_bp_flavor;

	const std::size_t bytes = bytes_per_cache(&args);

	RecordProperty("bytes_per_cache", static_cast<int>(bytes));
	EXPECT_LE(bytes, 8192u);
}

TEST(Machine, StatisticsOf512CpusAddUp)
{
	struct slab_cache *cache = slab_cache_create("entry", 64, nullptr, 0);
	std::vector<void *> objects(1000);

	for (void *&object : objects)
		object = slab_alloc(cache);
	EXPECT_EQ(stats_of(cache).objects, objects.size());
	for (void *object : objects)
		slab_free(cache, object);
	EXPECT_EQ(stats_of(cache).objects, 0u);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* What a CPU holds that is taken away from the process is not lost. */
TEST(Machine, ACpuThatIsTakenAwayStrandsNothing)
{
	const std::vector<int> cpus = allowed_cpus();

	if (cpus.size() < 2)
		GTEST_SKIP() << "one CPU";

	struct slab_cache *cache = slab_cache_create("entry", 64, nullptr, 0);
	std::vector<void *> objects(5000);

	std::thread([&] {
		run_on(cpus[0]);
		for (void *&object : objects)
			object = slab_alloc(cache);
		for (std::size_t i = 0; i < objects.size(); i += 2)
			slab_free(cache, objects[i]);
	}).join();
	std::thread([&] {
		run_on(cpus[1]);
		for (std::size_t i = 1; i < objects.size(); i += 2)
			slab_free(cache, objects[i]);
		EXPECT_GT(slab_cache_shrink(cache), 0);
	}).join();
	EXPECT_EQ(stats_of(cache).slabs, 0u);
	EXPECT_EQ(stats_of(cache).objects, 0u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

} // namespace
