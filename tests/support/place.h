/* SPDX-License-Identifier: MIT */
/*
 * Where an object with debug flags stands and what is around it (place), its report with
 * the names of addresses instead of their numbers, and rows of a dump to compare it with.
 */
#pragma once

#include "rooms.h"

/* An object with debug flags, allocated or free, and the bytes around it. */
class place
{
public:
	explicit place(void *obj)
		: object(static_cast<char *>(obj)), slab(slab_of(obj)), base(slab->base),
		  bytes(slab_bytes(slab))
	{
		size = slab->debug ? slab->debug->size : slab_size(slab);
		index = static_cast<unsigned>(static_cast<std::size_t>(object - base) / size);
		debug = slab->debug;
		start = base + index * size;
		end = start + size;
		EXPECT_TRUE(!debug || object == debug_object_at(slab, index));
	}

	struct debug_object *record() const { return debug_record(slab, index); }

	struct slab_cache *cache() const { return slab_user(slab); }

	/* The first byte behind the slab's last object, and the slab's end. */
	char *rest() const { return base + slab->objects * size; }

	char *slab_end() const { return base + bytes; }

	/* A report about this object, as it is every time: addresses are distances
	 * from it, and names, places and times are one character each. */
	std::string normalised(const std::string &text) const
	{
		std::istringstream in(text);
		std::string result;

		for (std::string line; std::getline(in, line);) {
			if (line.compare(0, 1, "\t") == 0) /* a frame of a stack */
				continue;
			result += (is_stack(line) ? stack_named(line) : numbers_named(line)) + "\n";
		}
		return result;
	}

	char *object;
	struct slab *slab;
	char *base; /* the slab, which may be freed meanwhile */
	std::size_t bytes;
	struct slab_debug *debug;
	std::size_t size;
	unsigned index;
	char *start, *end; /* of its place */

private:
	static bool is_stack(const std::string &line)
	{
		return line.compare(0, 13, "Allocated in ") == 0 ||
		       line.compare(0, 9, "Freed in ") == 0 ||
		       line.compare(0, 12, "Detected in ") == 0;
	}

	/* "Freed in F age=N by T", if the line has all that belongs there. */
	static std::string stack_named(const std::string &line)
	{
		const bool aged = line[0] != 'D';
		const std::size_t age = line.find(" age="), cpu = line.find(" cpu=");
		const std::size_t tid = line.find(" tid="), name = line.rfind(" (");

		if (aged != (age != std::string::npos) || (aged && age > cpu) || cpu > tid ||
		    name == std::string::npos || tid > name || line.back() != ')')
			return line;
		return line.substr(0, line.find(" in ")) + " in F" + (aged ? " age=N" : "") +
		       " by T";
	}

	std::string numbers_named(const std::string &line) const
	{
		std::string result;

		for (std::size_t at = 0; at < line.size();) {
			const std::size_t end = line.find_first_not_of("0123456789abcdef", at + 2);
			const std::size_t digits = std::min(end, line.size()) - at - 2;

			if (line.compare(at, 2, "0x") == 0 &&
			    (digits >= 6 ||
			     line.compare(at - (at > 2 ? 3 : 0), 6, "fp=0x0") == 0)) {
				result +=
					name(std::stoull(line.substr(at + 2, digits), nullptr, 16));
				at += 2 + digits;
			} else {
				result += line[at++];
			}
		}
		return result;
	}

	std::string name(unsigned long long address) const
	{
		const auto first = reinterpret_cast<std::uintptr_t>(base);
		const long distance =
			static_cast<long>(address - reinterpret_cast<std::uintptr_t>(object));

		if (!address)
			return "NULL";
		if (address == reinterpret_cast<std::uintptr_t>(slab))
			return "SLAB";
		if (address < first || address >= first + bytes)
			return "elsewhere";
		if (!distance)
			return "OBJ";
		return "OBJ" + std::string(distance > 0 ? "+" : "") + std::to_string(distance);
	}
};

/* The first lines of a report. */
inline std::string head(struct slab_cache *cache, const std::string &reason)
{
	return std::string(77, '=') + "\nBUG " + slab_cache_name(cache) + ": " + reason + "\n" +
	       std::string(77, '-') + "\n\n";
}

inline std::string fix(struct slab_cache *cache, const std::string &what)
{
	return std::string("FIX ") + slab_cache_name(cache) + ": " + what + "\n";
}

/* Bytes of a dump: "6b*63 a5" is 63 times 0x6b and once 0xa5. */
inline std::vector<unsigned char> bytes_of(const std::string &spec)
{
	std::istringstream in(spec);
	std::vector<unsigned char> bytes;

	for (std::string item; in >> item;) {
		const std::size_t star = item.find('*');
		const std::size_t n =
			star == std::string::npos ? 1 : std::stoul(item.substr(star + 1));

		bytes.insert(
			bytes.end(), n,
			static_cast<unsigned char>(std::stoul(item.substr(0, 2), nullptr, 16)));
	}
	return bytes;
}

/* The rows of a dump that begins `offset` bytes from the object. */
inline std::string rows(const std::string &label, long from,
			const std::vector<unsigned char> &bytes)
{
	std::string text;

	for (std::size_t at = 0; at < bytes.size(); at += 16) {
		const long distance = from + static_cast<long>(at);
		std::string hex, ascii;
		char digits[4];

		for (std::size_t i = at; i < at + 16 && i < bytes.size(); i++) {
			std::snprintf(digits, sizeof(digits), "%02x ", bytes[i]);
			hex += digits;
			ascii += bytes[i] >= ' ' && bytes[i] <= '~' ? static_cast<char>(bytes[i])
								    : '.';
		}
		hex.resize(48, ' ');
		text += label + std::string(9 - label.size(), ' ') + "OBJ" +
			(distance > 0 ? "+" : "") + (distance ? std::to_string(distance) : "") +
			": " + hex + " |" + ascii + "|\n";
	}
	return text;
}

inline std::string rows(const std::string &label, long from, const std::string &spec)
{
	return rows(label, from, bytes_of(spec));
}
