/* SPDX-License-Identifier: MIT */
/*
 * The fixture of tests of struct bug_info: damage in a slab of their own, and its report.
 * Stacks are made up, and so are their names: frame 0x10 is called f16.
 */
#pragma once

#include "../support/reports.h"
#include "lone_slab.h"

/* What symbolize() of these tests does, and how often it was called. */
struct names {
	static inline bool all_long;
	static inline unsigned calls;
};

/* Frames 0x10, 0x20, … above `first`. */
inline std::uint32_t stack_of(unsigned n, unsigned first)
{
	std::vector<const void *> frames;

	for (unsigned i = 0; i < n; i++)
		frames.push_back(reinterpret_cast<const void *>(
			static_cast<std::uintptr_t>(first + 16 * i)));
	return depot_save(frames.data(), n);
}

/* What thread `tid`, of this name, did on CPU 1 more than a second ago. */
inline struct track track_of(unsigned tid, const char *name, unsigned frames, unsigned first)
{
	struct track track = {};

	std::thread([&] {
		pthread_setname_np(pthread_self(), name);
		track_fill(&track, nullptr);
	}).join();
	track.stack = stack_of(frames, first);
	track.tid = tid;
	track.cpu = 1;
	track.when = (track_now() - 1234) & ((UINT64_C(1) << 40) - 1);
	return track;
}

inline std::string heading(const std::string &what)
{
	return std::string(77, '=') + "\nBUG " + what + "\n" + std::string(77, '-') + "\n\n";
}

/* Sixteen of one byte, as dumped. */
inline std::string line(const std::string &label, unsigned offset, unsigned byte)
{
	char hex[4];
	std::string text = label + " BASE+" + std::to_string(offset) + ": ";

	std::snprintf(hex, sizeof(hex), "%02x ", byte);
	for (int i = 0; i < 16; i++)
		text += hex;
	return text + " |" +
	       std::string(16, byte == POISON_FREE    ? 'k'
			       : byte == POISON_INUSE ? 'Z'
						      : '.') +
	       "|\n";
}

inline std::string lines(const std::string &label, unsigned offset, unsigned byte, unsigned n)
{
	std::string text;

	for (unsigned i = 0; i < n; i++)
		text += line(label, offset + 16 * i, byte);
	return text;
}

/* The end of a poisoned object. */
inline std::string last_line(unsigned offset)
{
	return "Object   BASE+" + std::to_string(offset) +
	       ": 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b a5  |kkkkkkkkkkkkkkk.|\n";
}

class BugInfoTest : public testing::Test
{
protected:
	BugInfoTest()
	{
		names::all_long = false;
		names::calls = 0;
	}

	/* One byte of a slab goes bad, and is found. */
	void damage(char *at, std::uint8_t expected)
	{
		*at = 0x12;
		bug_info_damage(&bug_, at, at, expected);
	}

	void begin(enum slab_problem problem, const char *what)
	{
		bug_info_begin(&bug_, problem, "entry", "%s overwritten", what);
	}

	/* A bug_info about an object of `slab` with a damaged byte. */
	void begin(const lone_slab &slab, unsigned index, char *at, std::uint8_t expected)
	{
		begin(SLAB_PROBLEM_RIGHT_REDZONE, "Right Redzone");
		damage(at, expected);
		bug_info_slab(&bug_, slab.get());
		bug_info_object(&bug_, slab.get(), index);
	}

	caught_report reported()
	{
		report_capture reports;

		bug_info_report(&bug_);
		EXPECT_EQ(reports.count(), 1U);
		return reports.last();
	}

	std::string text(const lone_slab &slab) { return slab.normalised(reported().text); }

	/* The lines that begin with these words, without them. */
	static std::vector<std::string> after(const std::string &text, const std::string &words)
	{
		std::istringstream in(text);
		std::vector<std::string> found;

		for (std::string l; std::getline(in, l);)
			if (l.compare(0, words.size(), words) == 0)
				found.push_back(l.substr(words.size()));
		return found;
	}

	struct bug_info bug_;
};
