/* SPDX-License-Identifier: MIT */
/* What targets change about the process besides memory: its CPU, reports, limits, failures. */
#pragma once

#include "input.h"

namespace slab_fuzz
{

/* Before libslab reads its environment: no thread that works at times of its own, and nothing
 * that the environment of the caller says. */
inline void calm_process()
{
	for (const char *name : {"SLAB_DEBUG", "SLAB_FAIL", "SLAB_LIMIT", "SLAB_SAMPLE",
				 "SLAB_PROFILE", "SLAB_DEBUG_ABORT", "SLAB_DECAY_MS"})
		unsetenv(name);
	setenv("SLAB_CONTROL", "off", 1);
	setenv("SLAB_TOOLS", "off", 1);
}

/* Move to one of the first CPUs, so that frees cross from CPU to CPU. */
inline void move_to_cpu(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Every report is a finding, but those that the target asks for. */
inline void refuse_reports(bool *leaks_expected)
{
	slab_set_report_handler(
		[](const struct slab_report *report, void *arg) {
			if (report->problem == SLAB_PROBLEM_LEAK && *static_cast<bool *>(arg))
				return;
			std::fprintf(stderr, "%s\n", report->text);
			std::abort();
		},
		leaks_expected);
}

/* Debug flags but T, which writes a line for every call. */
inline std::uint64_t debug_flags(input &in)
{
	static const std::uint64_t flags[] = {SLAB_CONSISTENCY_CHECKS, SLAB_RED_ZONE, SLAB_POISON,
					      SLAB_STORE_USER, SLAB_FAILSLAB};
	const unsigned chosen = in.below(32);
	std::uint64_t made = 0;

	for (unsigned i = 0; i < 5; i++)
		made |= chosen & 1u << i ? flags[i] : 0;
	return made;
}

/* Whether allocations may fail now. */
class failures
{
public:
	void inject(input &in)
	{
		static const char *const specs[] = {"interval=2", "interval=5", "probability=30",
						    "interval=3,times=2", "interval=2,cache=f*"};

		injected_ = in.below(3) != 0;
		FUZZ_CHECK(slab_set_fail(injected_ ? specs[in.below(5)] : nullptr) == 0);
	}

	void limit(input &in)
	{
		const std::size_t bytes =
			in.below(3) ? (16 + std::size_t(in.below(512)) * 8) << 10 : 0;

		limited_ = bytes != 0;
		FUZZ_CHECK(slab_set_limit(bytes) == 0);
		FUZZ_CHECK(slab_limit() == bytes);
	}

	void end()
	{
		FUZZ_CHECK(slab_set_fail(nullptr) == 0);
		FUZZ_CHECK(slab_set_limit(0) == 0);
		injected_ = limited_ = false;
	}

	bool possible() const { return injected_ || limited_; }

private:
	bool injected_ = false, limited_ = false;
};

} /* namespace slab_fuzz */
