/* SPDX-License-Identifier: MIT */
/*
 * An "entry": an object of 64 bytes with all debug flags, the first of its slab. It stands
 * there as
 *   16 bytes red zone | object | 8 bytes red zone | 8 bytes padding
 * and 682 of them leave 64 bytes of the slab. Here is what reports say of one.
 */
#pragma once

#include "../support/debugging.h"

enum class entry { allocated, free };

/* The lines between the reason and the dump. */
inline std::string entry_lines(entry state)
{
	const bool allocated = state == entry::allocated;

	return std::string("Allocated in F age=N by T\n") +
	       (allocated ? "" : "Freed in F age=N by T\n") +
	       "Detected in F by T\n"
	       "Slab SLAB objects=682 used=" +
	       (allocated ? "1" : "0") +
	       " fp=OBJ+96 flags=FZPU\n"
	       "Object OBJ @offset=16 fp=NULL size=64\n\n";
}

/* All bytes of its place: 16 before the object and 80 from it. */
inline std::vector<unsigned char> entry_bytes(entry state)
{
	return bytes_of(state == entry::allocated ? "cc*16 6b*63 a5 cc*8 5a*8"
						  : "bb*16 6b*63 a5 bb*8 5a*8");
}

/* The dump when other bytes stand `at` this distance from the object. */
inline std::string entry_dump(entry state, long at = 0, const std::string &other = "")
{
	const std::vector<unsigned char> bytes = bytes_of(other);
	std::vector<unsigned char> all = entry_bytes(state);
	const auto part = [&all](long from, long to) {
		return std::vector<unsigned char>(all.begin() + 16 + from, all.begin() + 16 + to);
	};

	std::copy(bytes.begin(), bytes.end(), all.begin() + 16 + at);
	return rows("Redzone", -16, part(-16, 0)) + rows("Object", 0, part(0, 64)) +
	       rows("Redzone", 64, part(64, 72)) + rows("Padding", 72, part(72, 80));
}
