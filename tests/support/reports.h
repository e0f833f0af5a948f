/* SPDX-License-Identifier: MIT */
/*
 * Catching what the library reports.
 *
 * While a report_capture lives, reports go to it and not to stderr, so that a
 * test can say which report it expects, and stays silent. What a handler is given
 * is kept too: both the text and the struct can be looked at.
 */
#pragma once

#include "test.h"

/* How many lines of a text begin with these words. */
inline unsigned lines_with(const std::string &text, const std::string &words)
{
	std::istringstream in(text);
	unsigned n = 0;

	for (std::string line; std::getline(in, line);)
		n += line.compare(0, words.size(), words) == 0;
	return n;
}

/* One report. The pointers to strings in `info` are gone: the strings are here. */
struct caught_report {
	explicit caught_report(const struct slab_report *report)
		: info(*report), cache(report->cache), reason(report->reason), text(report->text)
	{
		info.cache = info.reason = info.text = nullptr;
	}

	struct slab_report info;
	std::string cache, reason, text;
};

class report_capture
{
public:
	report_capture() { slab_set_report_handler(append, this); }

	~report_capture() { slab_set_report_handler(nullptr, nullptr); }

	report_capture(const report_capture &) = delete;
	report_capture &operator=(const report_capture &) = delete;

	/* Everything reported so far. */
	std::vector<caught_report> all() const
	{
		std::lock_guard<std::mutex> guard(lock_);

		return all_;
	}

	std::string text() const
	{
		std::string text;

		for (const caught_report &report : all())
			text += report.text;
		return text;
	}

	unsigned count() const { return static_cast<unsigned>(all().size()); }

	bool contains(const std::string &words) const
	{
		return text().find(words) != std::string::npos;
	}

	/* SLUB's tests count errors as both together. */
	unsigned bugs() const { return lines_with(text(), "BUG "); }

	unsigned fixes() const { return lines_with(text(), "FIX "); }

	/* Number i, and the latest: they throw when there is none. */
	caught_report report(std::size_t i) const { return all().at(i); }

	caught_report last() const { return all().at(all().size() - 1); }

	/* What the reports are about, in their order. */
	std::vector<enum slab_problem> problems() const
	{
		std::vector<enum slab_problem> problems;

		for (const caught_report &report : all())
			problems.push_back(report.info.problem);
		return problems;
	}

	void clear()
	{
		std::lock_guard<std::mutex> guard(lock_);

		all_.clear();
	}

private:
	static void append(const struct slab_report *report, void *arg)
	{
		auto *self = static_cast<report_capture *>(arg);
		std::lock_guard<std::mutex> guard(self->lock_);

		self->all_.emplace_back(report);
	}

	mutable std::mutex lock_;
	std::vector<caught_report> all_;
};
