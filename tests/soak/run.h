/* SPDX-License-Identifier: MIT */
/* A soak: rounds, in each of which workers and conductors run and then everything is freed. */
#pragma once

#include "oracle.h"

namespace soak
{

struct options {
	double seconds = 0; /* 0: no limit */
	std::uint64_t operations = 0; /* 0: no limit */
	double round_seconds = 20;
	unsigned threads = 192, conductors = 2;
	std::uint64_t seed = 1;
	bool progress = false; /* a line now and then on stdout */
	enum plant plant = NOTHING;
};

struct result {
	std::uint64_t operations;
	unsigned long errors, disturbances, rounds;
};

/* Until a limit is reached or there is an error. Errors on purpose are not written. */
struct result run(const struct options &options);

} /* namespace soak */
