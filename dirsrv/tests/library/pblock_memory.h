/* SPDX-License-Identifier: MIT */
/*
 * The memory of pblocks, whichever layout: how many allocations it is in, and a certain
 * one that fails. The program is linked such that allocations of both layouts come here.
 */
#ifndef TESTS_DIRSRV_PBLOCK_MEMORY_H
#define TESTS_DIRSRV_PBLOCK_MEMORY_H

#include <cstddef>

namespace pblock_test
{

/* Allocations that were not freed yet. */
std::size_t allocations();

/* Allocations since the program began. */
std::size_t allocations_ever();

/* The n-th allocation from now on fails, until stop(); the first one is 0. */
class failing_allocation
{
public:
	explicit failing_allocation(int n);
	~failing_allocation()
	{
		stop();
	}
	failing_allocation(const failing_allocation &) = delete;
	failing_allocation &operator=(const failing_allocation &) = delete;
	bool stop(); /* whether there was an n-th one */
};

} // namespace pblock_test

#endif /* TESTS_DIRSRV_PBLOCK_MEMORY_H */
