/* SPDX-License-Identifier: MIT */
/* On which kernels of aarch64 sequences are restarted, by their releases. */
#include "../support/rooms.h"

namespace
{

struct release {
	const char *text;
	bool restarts;
};

const release releases[] = {
	{"4.18.0-553.el8.aarch64", true},
	{"4.19.325", true},
	{"5.10.0-21-arm64", true},
	{"6.1.0-13-arm64", true},
	{"6.12.48+deb13-arm64", true},
	{"6.18.44-fc-v669", true},
	{"6.18.70000", true},
	{"6.19.0-rc1", false},
	{"6.19-rc3", false},
	{"6.19", false},
	{"6.19.14-200.fc43.aarch64", false},
	{"6.20.1", false},
	{"7.0", false},
	{"7.0.0-22-generic", false},
	{"7.0.4+deb13-arm64", false},
	{"7.0.13", false},
	{"7.0.13.14", false},
	{"7.0.14", true},
	{"7.0.14-arm64", true},
	{"7.0.28", true},
	{"7.0.99999999999999999999", true},
	{"7.1.0-rc2", false},
	{"7.1-rc2", false},
	{"7.1.0", true},
	{"7.1.5-arch1-1", true},
	{"7.2.0-rc1", true},
	{"10.0.1", true},
	{"", false},
	{"unknown", false},
};

TEST(RseqKernelTest, KnowsWhichReleasesOfAarch64Restart)
{
	for (const release &r : releases)
		EXPECT_EQ(rseq_release_restarts(r.text), r.restarts) << r.text;
}

TEST(RseqKernelTest, EveryLackHasAText)
{
	EXPECT_EQ(cpu_rseq_lack_text(CPU_RSEQ_LACKS_NOTHING), nullptr);
	for (int lack = CPU_RSEQ_UNREGISTERED; lack <= CPU_RSEQ_NOT_FENCED; lack++)
		EXPECT_NE(cpu_rseq_lack_text(static_cast<enum cpu_rseq_lack>(lack)), nullptr);
	EXPECT_EQ(cpu_rseq_lack_text(static_cast<enum cpu_rseq_lack>(CPU_RSEQ_NOT_FENCED + 1)),
		  nullptr);
}

} /* namespace */
