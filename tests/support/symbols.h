/* SPDX-License-Identifier: MIT */
/* Texts of addresses, and one address whose text is known. */
#ifndef TESTS_SUPPORT_SYMBOLS_H
#define TESTS_SUPPORT_SYMBOLS_H

#include <cctype>
#include <string>

#include <gtest/gtest.h>

extern "C" {
#include "report/symbol.h"

/* An address inside of it, and its line in symbol_test.cc. */
const void *exported_function(int *line);
}

namespace slab_test
{

inline std::string text_of(const void *frame)
{
	char text[1][SYMBOL_TEXT];

	symbolize(1, &frame, text);
	return text[0];
}

inline std::string place(int line)
{
	return " (symbol_test.cc:" + std::to_string(line) + ")";
}

/* What stands before and behind "+0x1c" in a text; "?" when that is missing. */
inline std::string without_offset(const std::string &text)
{
	const size_t at = text.find("+0x");
	size_t end = at + 3;

	if (at == std::string::npos)
		return "?";
	while (std::isxdigit(static_cast<unsigned char>(text[end])))
		end++;
	return end > at + 3 ? text.substr(0, at) + text.substr(end) : "?";
}

/* The machine may be busy, and sanitized programs start slowly. */
constexpr unsigned patient_ms = 60000;

class SymbolTest : public testing::Test
{
protected:
	void SetUp() override
	{
		symbol_use(nullptr, patient_ms);
		frame_ = exported_function(&line_);
		full_ = "exported_function" + place(line_);
	}

	void TearDown() override
	{
		symbol_use(nullptr, 0);
	}

	/* An address that every text_of() can look up anew. */
	const void *frame_ = nullptr;
	int line_ = 0;
	std::string full_;
};

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_SYMBOLS_H */
