/* SPDX-License-Identifier: MIT */
/*
 * Lines of SLAB_DEBUG: what libslab reads in one, and what a second matcher does, written
 * with strings for clarity. The two must agree on everything.
 */
#pragma once

#include "../support/rooms.h"
#include <cctype>

constexpr std::uint64_t F = SLAB_CONSISTENCY_CHECKS, Z = SLAB_RED_ZONE, P = SLAB_POISON,
			U = SLAB_STORE_USER, T = SLAB_TRACE, A = SLAB_FAILSLAB,
			FZPU = F | Z | P | U;

inline const std::string longest_name(SLAB_MAX_NAME, 'n');

inline std::vector<std::string> complaints;

inline void complain(const char *message)
{
	complaints.push_back(message);
}

/* What SLAB_DEBUG says about a cache. */
struct verdict {
	std::uint64_t debug_flags;
	bool no_growth;

	bool operator==(const verdict &other) const
	{
		return debug_flags == other.debug_flags && no_growth == other.no_growth;
	}
};

inline std::ostream &operator<<(std::ostream &out, const verdict &v)
{
	char text[8];

	debug_flags_format(v.debug_flags, text);
	return out << text << (v.no_growth ? " without growth" : "");
}

/* A text in memory of exactly its size, so that a sanitizer sees reads beyond it. */
inline std::vector<char> exact(const std::string &text)
{
	return std::vector<char>(text.c_str(), text.c_str() + text.size() + 1);
}

inline verdict flags_for(const std::string &text, const std::string &name)
{
	verdict v = {~UINT64_C(0), false};

	v.debug_flags = debug_text_flags(exact(text).data(), exact(name).data(), &v.no_growth);
	return v;
}

/* --- the second matcher ---------------------------------------------------- */

inline std::vector<std::string> split(const std::string &text, char by)
{
	std::vector<std::string> parts(1);

	for (char c : text)
		if (c == by)
			parts.emplace_back();
		else
			parts.back() += c;
	return parts;
}

inline bool matches(const std::string &pattern, const std::string &name)
{
	const std::size_t star = pattern.find('*');

	return star == std::string::npos ? !pattern.empty() && pattern == name
					 : name.compare(0, star, pattern, 0, star) == 0;
}

inline std::uint64_t flag_of(char letter)
{
	const std::string all = "FZPUTA";
	const std::uint64_t flags[] = {F, Z, P, U, T, A};
	const std::size_t at = all.find(letter);

	return at == std::string::npos ? 0 : flags[at];
}

inline std::uint64_t debug_flags_of(const std::string &text)
{
	const std::size_t minus = text.rfind('-');
	std::uint64_t debug_flags = 0;

	if (text.empty())
		return FZPU;
	for (std::size_t i = minus == std::string::npos ? 0 : minus + 1; i < text.size(); i++)
		debug_flags |= flag_of(static_cast<char>(std::toupper(text[i])));
	return debug_flags;
}

inline verdict reference(const std::string &text, const std::string &name)
{
	verdict for_all = {0, false}, for_name = {0, false};
	bool named = false, no_growth = false;

	for (const std::string &block : split(text, ';')) {
		std::vector<std::string> parts = split(block, ',');
		const std::string debug_flags = parts[0];

		if (block.empty() ||
		    debug_flags.find_first_not_of("FZPUTAOfzputao-") != std::string::npos)
			continue;
		parts.erase(parts.begin());
		no_growth |= debug_flags.find_first_of("oO") != std::string::npos;
		if (parts.empty())
			for_all.debug_flags = debug_flags_of(debug_flags);
		else if (!named && std::any_of(parts.begin(), parts.end(), [&](const auto &part) {
				 return matches(part, name);
			 })) {
			for_name.debug_flags = debug_flags_of(debug_flags);
			named = true;
		}
	}
	return {named ? for_name.debug_flags : for_all.debug_flags, no_growth};
}

/* A second reader of SLAB_SAMPLE: -1 when the line is bad. */
inline long reference_interval(const std::string &text, const std::string &name)
{
	long interval = -1;

	for (const std::string &item : split(text, ',')) {
		const std::size_t colon = item.rfind(':');
		const std::string pattern = item.substr(0, colon);
		const std::string number = colon == std::string::npos ? "" : item.substr(colon + 1);
		const bool digits = !number.empty() &&
				    number.find_first_not_of("0123456789") == std::string::npos;

		if (!digits || !name_is_pattern(pattern.c_str(), pattern.size()))
			return -1;
		errno = 0;
		const long n = std::strtol(number.c_str(), nullptr, 10);

		if (errno == ERANGE)
			return -1;
		if (interval < 0 && matches(pattern, name))
			interval = n;
	}
	return interval < 0 ? 0 : interval;
}

/* --- SLAB_FAIL ------------------------------------------------------------- */

inline bool is_equal(const struct slab_fail &a, const struct slab_fail &b)
{
	return a.probability == b.probability && a.interval == b.interval && a.times == b.times &&
	       a.set == b.set && std::memcmp(a.names, b.names, sizeof(a.names)) == 0;
}
