/* SPDX-License-Identifier: MIT */
/*
 * Machines that give memory in another way: huge pages that khugepaged fills again, and no more
 * than the commit limit.
 */
#include "../support/objects.h"
#include "../support/resident.h"

namespace
{

constexpr std::size_t small_size = 500, large_size = 8000;

long number_in(const std::string &path, const std::string &before = "")
{
	std::ifstream file(path);
	std::string word;
	long number = -1;

	while (!before.empty() && file >> word && word != before)
		;
	file >> number;
	return number;
}

long huge_scans()
{
	return number_in("/sys/kernel/mm/transparent_hugepage/khugepaged/full_scans");
}

/* Objects of 256 MiB; runs of 64 are freed, nine of ten at random. */
TEST(HugePagesTest, WhatAPurgeReturnedStaysReturned)
{
	const test_cache cache(small_size);
	std::vector<void *> objects((std::size_t{256} << 20) / small_size), kept;
	std::mt19937 random(1);

	for (void *&object : objects)
		object = std::memset(slab_alloc(cache), 1, small_size);
	for (std::size_t i = 0; i < objects.size(); i += 64) {
		const bool stay = random() % 10 == 0;

		for (std::size_t j = i; j < std::min(i + 64, objects.size()); j++)
			stay ? kept.push_back(objects[j]) : slab_free(cache, objects[j]);
	}
	const std::size_t full = resident_memory();

	slab_trim();

	const std::size_t purged = resident_memory();
	const long scans = huge_scans();

	while (huge_scans() < scans + 3)
		std::this_thread::sleep_for(std::chrono::milliseconds(100));
	EXPECT_LT(purged, full / 2);
	EXPECT_LE(resident_memory(), purged + purged / 10);
	std::printf("row: %zu MiB, purged to %zu, then %zu\n", full >> 20, purged >> 20,
		    resident_memory() >> 20);
	for (void *object : kept)
		slab_free(cache, object);
}

/* As many large objects as the machine commits itself to, three times. Each leads to the one
 * before. */
TEST(CommitTest, AllocationsFailAtTheLimitAndGoOnBelowIt)
{
	const test_cache cache(large_size);
	const long limit = number_in("/proc/meminfo", "CommitLimit:");
	std::size_t first = 0;

	for (int round = 0; round < 3; round++) {
		void *last = nullptr;
		std::size_t count = 0;

		for (void *object; (object = slab_alloc(cache)); count++) {
			std::memset(object, 1, large_size);
			*static_cast<void **>(object) = last;
			last = object;
		}
		EXPECT_EQ(errno, ENOMEM);
		first = first ? first : count;
		EXPECT_GE(count, first * 9 / 10) << "round " << round;
		for (void *next; last; last = next) {
			next = *static_cast<void **>(last);
			slab_free(cache, last);
		}
	}
	slab_trim();
	std::printf(
		"row: %zu MiB of objects at a limit of %ld MiB, %ld MiB committed after a purge\n",
		first * large_size >> 20, limit >> 10,
		number_in("/proc/meminfo", "Committed_AS:") >> 10);
	EXPECT_GE(static_cast<long>(first * large_size >> 10), limit / 2);
}

} /* namespace */
