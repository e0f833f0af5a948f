/* SPDX-License-Identifier: MIT */
/*
 * Catching what the library reports.
 *
 * While a report_capture lives, reports of misuse go to it and not to stderr, so
 * that a test can say which report it expects, and stays silent. The handler may
 * run with the library's locks held: it only appends to a string.
 */
#ifndef TESTS_SUPPORT_REPORTS_H
#define TESTS_SUPPORT_REPORTS_H

#include <mutex>
#include <string>

#include <slab/debug.h>

namespace slab_test
{

class report_capture
{
public:
	report_capture()
	{
		slab_set_report_handler(append, this);
	}

	~report_capture()
	{
		slab_set_report_handler(nullptr, nullptr);
	}

	report_capture(const report_capture &) = delete;
	report_capture &operator=(const report_capture &) = delete;

	/* Everything reported so far. */
	std::string text() const
	{
		std::lock_guard<std::mutex> guard(lock_);

		return text_;
	}

	unsigned count() const
	{
		std::lock_guard<std::mutex> guard(lock_);

		return count_;
	}

	bool contains(const std::string &words) const
	{
		return text().find(words) != std::string::npos;
	}

private:
	static void append(const char *report, void *arg)
	{
		auto *self = static_cast<report_capture *>(arg);
		std::lock_guard<std::mutex> guard(self->lock_);

		self->text_ += report;
		self->count_++;
	}

	mutable std::mutex lock_;
	std::string text_;
	unsigned count_ = 0;
};

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_REPORTS_H */
