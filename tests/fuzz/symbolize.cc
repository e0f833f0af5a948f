/* SPDX-License-Identifier: MIT */
/* slab-symbolize copies a log with arbitrary lines, names of files and offsets. */
#include "input.h"

extern "C" int symbolize_main(int argc, char **argv);

namespace
{

/* What slab-symbolize writes for this log. */
std::string symbolized(std::string log)
{
	char name[] = "slab-symbolize", *argv[] = {name, nullptr};
	char *written = nullptr;
	std::size_t length = 0;
	FILE *const in = stdin, *const out = stdout;

	stdin = fmemopen(log.data(), log.size(), "r");
	stdout = open_memstream(&written, &length);
	const int status = symbolize_main(1, argv);

	std::fclose(stdin);
	std::fclose(stdout);
	stdin = in;
	stdout = out;
	FUZZ_CHECK(status == 0);
	const std::string text(written, length);

	std::free(written);
	return text;
}

/* A "\xff" in an input stands for a file that has functions. */
std::string log_of(const std::uint8_t *data, std::size_t size)
{
	std::string log;

	for (std::size_t i = 0; i < size; i++)
		if (data[i] == 0xff)
			log += "(/proc/self/exe+0x";
		else
			log += static_cast<char>(data[i]);
	return log;
}

} /* namespace */

int LLVMFuzzerInitialize(int *, char ***)
{
	return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	const std::string log = log_of(data, size);

	if (log.empty())
		return 0;
	const std::string text = symbolized(log);

	/* An address becomes one line or more. What is none stays. */
	FUZZ_CHECK(std::count(text.begin(), text.end(), '\n') >=
		   std::count(log.begin(), log.end(), '\n'));
	FUZZ_CHECK(log.find("(/") != std::string::npos || text == log);
	return 0;
}
