/* SPDX-License-Identifier: MIT */
/* What the oracle found. */
#include "oracle.h"

#include <cinttypes>

namespace soak
{

std::atomic<unsigned> shortages, shortage_epoch;

namespace
{

constexpr unsigned long most_written = 20;
constexpr std::size_t kept = 64, longest = 80;

std::atomic<unsigned long> found;
std::atomic<bool> silent;
char texts[kept][longest];

} /* namespace */

void error(const char *what, const char *kind, const void *obj, std::uint64_t stamp)
{
	const unsigned long n = found.fetch_add(1);

	if (n < kept)
		std::snprintf(texts[n], longest, "%s", what);
	if (silent || n >= most_written)
		return;
	dprintf(STDERR_FILENO, "soak: error: process %d: %s: object %p, stamp %" PRIx64 ": %s\n",
		static_cast<int>(getpid()), kind, obj, stamp, what);
}

unsigned long errors()
{
	return found.load();
}

void clear_errors()
{
	found = 0;
	std::memset(texts, 0, sizeof(texts));
}

void be_silent(bool now)
{
	silent = now;
}

bool is_silent()
{
	return silent;
}

bool seen(const char *words)
{
	for (const char *text : texts)
		if (std::strncmp(text, words, std::strlen(words)) == 0)
			return true;
	return false;
}

const char *ownership_of(const void *obj)
{
	const std::uint64_t tag = load_word(obj, 0);

	if (tag == live_tag(obj))
		return "has an owner";
	if (tag == idle_tag(obj))
		return "has no owner";
	return tag == waiting_tag(obj) ? "waits for a grace period" : "has no tag";
}

} /* namespace soak */
