/* SPDX-License-Identifier: MIT */
/* The fixture of tests that run slabinfo on core files. */
#pragma once

#include "../support/server.h"

/* With sanitizers a process has terabytes of shadow: no core files of these. */
class CoreTest : public testing::Test
{
protected:
	void SetUp() override
	{
		if (under_asan || under_tsan)
			GTEST_SKIP() << "no core files of processes with sanitizers";
		if (!exists("/usr/bin/gcore"))
			GTEST_SKIP() << "gcore is not installed";
	}

	/* A core file of a process that goes on. */
	std::string core_of(const child_process &process)
	{
		const std::string name = dir.path() + "/gcore";
		child_process gcore({"/usr/bin/gcore", "-o", name, std::to_string(process.pid())});

		gcore.rest_of_output();
		const std::string errors = gcore.errors();

		EXPECT_EQ(gcore.wait(), 0) << errors;
		return name + "." + std::to_string(process.pid());
	}

	runtime_dir dir;
};
