/* SPDX-License-Identifier: MIT */
/*
 * usage: ldapd_fuzz_messages SEED
 *
 * Writes malformed messages to stdout without end, each with its length before it: four bytes, the
 * most significant first. dirsrv/tests/ldapd/fuzz_test.py sends them.
 */
#include "fuzzer.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv)
{
	if (argc != 2) {
		std::fputs("usage: ldapd_fuzz_messages SEED\n", stderr);
		return 2;
	}
	Fuzzer fuzzer(static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)));

	for (;;) {
		const Message made = fuzzer.next();
		const size_t size = made.size();
		const unsigned char length[] = {static_cast<unsigned char>(size >> 24),
						static_cast<unsigned char>(size >> 16),
						static_cast<unsigned char>(size >> 8),
						static_cast<unsigned char>(size)};

		if (std::fwrite(length, sizeof(length), 1, stdout) != 1 ||
		    std::fwrite(made.data(), 1, size, stdout) != size)
			return 1;
	}
}
