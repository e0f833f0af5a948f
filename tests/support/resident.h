/* SPDX-License-Identifier: MIT */
/* How much memory this process has: pages of a range, address space. */
#pragma once

#include "test.h"

/* How many pages of [start, start + size) hold memory. Pages that are not
 * mapped at all hold none. */
inline std::size_t resident_pages(const void *start, std::size_t size)
{
	const std::uintptr_t page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
	const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(start) & ~(page - 1);
	const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(start) + size;
	std::vector<unsigned char> in_core((end - first + page - 1) / page);
	std::size_t pages = 0;

	/* All at once, or one by one where some are not mapped. */
	if (mincore(reinterpret_cast<void *>(first), end - first, in_core.data()) != 0)
		for (std::size_t i = 0; i < in_core.size(); i++)
			if (mincore(reinterpret_cast<void *>(first + i * page), page, &in_core[i]))
				in_core[i] = 0;
	for (const unsigned char state : in_core)
		pages += state & 1;
	return pages;
}

inline std::size_t resident_bytes(const void *start, std::size_t size)
{
	return resident_pages(start, size) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/* A number of /proc/self/statm, in bytes: 0 address space, 1 resident. */
inline std::size_t statm(unsigned field)
{
	const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
	unsigned long values[2] = {0, 0};
	FILE *file = std::fopen("/proc/self/statm", "r");

	if (!file)
		return 0;
	if (std::fscanf(file, "%lu %lu", &values[0], &values[1]) != 2)
		values[0] = values[1] = 0;
	std::fclose(file);
	return values[field] * page;
}

inline std::size_t address_space()
{
	return statm(0);
}

inline std::size_t resident_memory()
{
	return statm(1);
}
