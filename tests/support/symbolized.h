/* SPDX-License-Identifier: MIT */
/* What slab-symbolize makes of a report. */
#pragma once

#include "test.h"

inline std::string symbolized(const std::string &report)
{
	char path[] = "/tmp/slab-report-XXXXXX", buffer[4096];
	const int fd = mkstemp(path);
	std::string text;

	std::ofstream(path) << report;
	std::FILE *answer = popen((std::string(SLAB_SYMBOLIZE " <") + path).c_str(), "r");

	for (std::size_t n = 1; answer && n; text.append(buffer, n))
		n = std::fread(buffer, 1, sizeof(buffer), answer);
	EXPECT_TRUE(answer && pclose(answer) == 0) << report;
	close(fd);
	unlink(path);
	return text;
}
