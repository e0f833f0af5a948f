/* SPDX-License-Identifier: MIT */
/*
 * Debug flags in tests: where an object with debug flags stands and what is around
 * it (place), its report with the names of addresses instead of their numbers,
 * and rows of a dump to compare it with.
 */
#ifndef TESTS_SUPPORT_DEBUGGING_H
#define TESTS_SUPPORT_DEBUGGING_H

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <slab/debug.h>
#include <slab/malloc.h>
#include <slab/slab.h>
#include <slab/stats.h>

#include "objects.h"
#include "reports.h"

extern "C" {
#include "config/debug_spec.h"
#include "core/debug_record.h"
#include "core/slab.h"
#include "pages/segment.h"
}

namespace slab_test
{

/* "FZP" as flags. */
inline std::uint64_t debug_flags(const std::string &text)
{
	std::uint64_t flags = 0;

	EXPECT_EQ(debug_flags_parse(text.c_str(), text.size(), &flags), 0) << text;
	return flags;
}

/* All sixteen combinations of F, Z, P and U. */
inline std::vector<std::uint64_t> all_layouts()
{
	std::vector<std::uint64_t> all;

	for (std::uint64_t bits = 0; bits < 16; bits++)
		all.push_back(bits); /* the debug flags are bits 0 to 3 */
	return all;
}

/* The compiler shall not know what is done to freed objects. */
inline char *hidden(void *obj)
{
	void *volatile pointer = obj;

	return static_cast<char *>(pointer);
}

/* The cache of <slab/malloc.h> that serves this size. */
inline struct slab_cache *cache_of_size(std::size_t size)
{
	struct search {
		std::string name;
		struct slab_cache *found;
	} search = {
		"size-" + (size % 1024 ? std::to_string(size) : std::to_string(size / 1024) + "k"),
		nullptr};
	void *obj = slab_malloc(size);

	slab_for_each_cache(
		[](struct slab_cache *cache, void *arg) {
			auto *s = static_cast<struct search *>(arg);

			if (s->name == slab_cache_name(cache))
				s->found = cache;
			return s->found ? 1 : 0;
		},
		&search);
	slab_mfree(obj);
	EXPECT_NE(search.found, nullptr) << search.name;
	return search.found;
}

/* Debug flags for a while. */
class flagged
{
public:
	flagged(struct slab_cache *cache, std::uint64_t flags) : cache_(cache)
	{
		EXPECT_EQ(slab_cache_debug(cache_, flags), 0);
	}

	~flagged()
	{
		EXPECT_EQ(slab_cache_debug(cache_, 0), 0);
	}

	flagged(const flagged &) = delete;
	flagged &operator=(const flagged &) = delete;

private:
	struct slab_cache *cache_;
};

/* An object with debug flags, allocated or free, and the bytes around it. */
class place
{
public:
	explicit place(void *obj) : object(static_cast<char *>(obj)), slab(slab_of(obj))
	{
		size = slab_size(slab);
		index = static_cast<unsigned>(static_cast<std::size_t>(object - slab->cpu.base) /
					      size);
		debug = slab->debug;
		start = slab->cpu.base + index * size;
		end = start + size;
		EXPECT_TRUE(!debug || object == debug_object_at(slab, index));
	}

	struct debug_object *record() const
	{
		return debug_record(slab, index);
	}

	struct slab_cache *cache() const
	{
		return slab_user(slab);
	}

	/* The first byte behind the slab's last object, and the slab's end. */
	char *rest() const
	{
		return slab->cpu.base + slab->objects * size;
	}

	char *slab_end() const
	{
		return slab->cpu.base + slab_bytes(slab);
	}

	/* A report about this object, as it is every time: addresses are distances
	 * from it, and names, places and times are one letter each. */
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
		const auto base = reinterpret_cast<std::uintptr_t>(slab->cpu.base);
		const long distance =
			static_cast<long>(address - reinterpret_cast<std::uintptr_t>(object));

		if (!address)
			return "NULL";
		if (address == reinterpret_cast<std::uintptr_t>(slab))
			return "SLAB";
		if (address < base || address >= base + slab_bytes(slab))
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

/*
 * A test of one cache's debugging: nothing may be reported but what it expects.
 */
class DebugTest : public testing::Test
{
protected:
	/* The only report there is; throws when there is none. */
	caught_report reported() const
	{
		EXPECT_EQ(reports_.count(), 1u) << reports_.text();
		return reports_.last();
	}

	/* The bytes first … last were not what they should be. */
	void expect_damage(enum slab_problem problem, const std::string &reason, const char *first,
			   const char *last, unsigned found, unsigned expected, unsigned fixes = 1)
	{
		const caught_report report = reported();

		EXPECT_EQ(report.info.problem, problem);
		EXPECT_EQ(report.reason, reason);
		EXPECT_EQ(report.info.first, first);
		EXPECT_EQ(report.info.last, last);
		EXPECT_EQ(report.info.found, found);
		EXPECT_EQ(report.info.expected, expected);
		EXPECT_EQ(report.info.fixes, fixes);
		EXPECT_EQ(report.text.size(), report.text.rfind('\n') + 1);
	}

	void expect_problem(enum slab_problem problem, const std::string &reason,
			    unsigned fixes = 1)
	{
		const caught_report report = reported();

		EXPECT_EQ(report.info.problem, problem);
		EXPECT_EQ(report.reason, reason);
		EXPECT_EQ(report.info.first, nullptr);
		EXPECT_EQ(report.info.last, nullptr);
		EXPECT_EQ(report.info.fixes, fixes);
	}

	/* What was reported was counted once, is put right or out of the way, and the
	 * cache goes on. */
	void expect_contained(struct slab_cache *cache, unsigned errors)
	{
		const unsigned before = reports_.count();

		EXPECT_EQ(stats_of(cache).errors, errors);
		EXPECT_EQ(slab_cache_validate(cache), 0);
		const std::vector<void *> objs = alloc_many(cache, 2000);
		EXPECT_TRUE(all_distinct(objs));
		for (void *obj : objs)
			std::memset(obj, 0x11, slab_cache_size(cache));
		EXPECT_EQ(slab_cache_validate(cache), 0);
		free_many(cache, objs);
		EXPECT_EQ(slab_cache_validate(cache), 0);
		EXPECT_EQ(reports_.count(), before) << reports_.text();
	}

	/* obj has no user, and is never allocated again. */
	void expect_never_again(struct slab_cache *cache, const void *obj)
	{
		const std::vector<void *> objs = alloc_many(cache, 3000);

		EXPECT_EQ(std::count(objs.begin(), objs.end(), obj), 0);
		free_many(cache, objs);
	}

	report_capture reports_;
};

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_DEBUGGING_H */
