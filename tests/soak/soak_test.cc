/* SPDX-License-Identifier: MIT */
/*
 * The short form of ./run soak, and the oracle itself: it sees errors that are made on purpose.
 *
 * How long the soak works is SLAB_STRESS_SECONDS, 2 by default: longer only finds more.
 */
#include "../support/process.h"
#include "conductor.h"
#include "run.h"

namespace
{

/* Sanitizers take ten times as long for an operation. */
constexpr unsigned threads = under_tsan ? 16 : 64;
constexpr double plant_seconds = 100;

double stress_seconds()
{
	const char *seconds = std::getenv("SLAB_STRESS_SECONDS");

	return seconds ? std::atof(seconds) : 2;
}

/* Again and longer, where the threads get too little of the CPUs for a disturbance. */
TEST(SoakTest, NoObjectIsLostDoubledOrDamaged)
{
	struct soak::options options;
	struct soak::result result = {};

	options.threads = threads;
	options.seconds = stress_seconds();
	for (int run = 0; run < 6 && !result.disturbances && !result.errors; run++) {
		result = soak::run(options);
		EXPECT_GT(result.operations, 0u);
		options.seconds *= 3;
	}
	EXPECT_EQ(result.errors, 0u);
	EXPECT_GT(result.disturbances, 0u);
}

/* The errors that a soak in a child sees if one of this kind is made. */
int soak_sees(enum soak::plant plant, const char *words)
{
	struct soak::options options;

	options.seconds = plant_seconds;
	options.round_seconds = 0.3;
	options.threads = 8;
	options.conductors = plant == soak::HALTED ? 4 : 0;
	options.plant = plant;
	return soak::run(options).errors && soak::seen(words) ? 0 : 1;
}

void expect_seen(enum soak::plant plant, const char *words)
{
	EXPECT_IN_CHILD([=] { return soak_sees(plant, words); });
}

TEST(SoakOracleTest, SeesAnObjectThatIsAllocatedTwice)
{
	expect_seen(soak::DOUBLED, "allocated twice");
}

TEST(SoakOracleTest, SeesAnObjectThatIsLost)
{
	expect_seen(soak::LOST, "objects lost");
}

TEST(SoakOracleTest, SeesAnObjectThatIsDamaged)
{
	expect_seen(soak::DAMAGED, "damaged");
}

TEST(SoakOracleTest, SeesAPageThatLosesItsContents)
{
	expect_seen(soak::EMPTIED, "damaged");
}

TEST(SoakOracleTest, SeesAnAllocationThatFailsWithoutACause)
{
	expect_seen(soak::FAILED, "failed without a cause");
}

TEST(SoakOracleTest, SeesAnObjectThatIsNotInItsConstructedState)
{
	expect_seen(soak::UNCONSTRUCTED, "not in its constructed state");
}

TEST(SoakOracleTest, SeesACancellationPoint)
{
	expect_seen(soak::POINT, "a cancellation point");
}

TEST(SoakOracleTest, SeesAChildThatEndsBadly)
{
	expect_seen(soak::HALTED, "child ended badly");
}

} /* namespace */
