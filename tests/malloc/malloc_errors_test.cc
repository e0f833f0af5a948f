/* SPDX-License-Identifier: MIT */
/* What calls that fail return and set: each row of the manual's table, and no others. */
#include "preloaded.h"

#include <climits>
#include <fstream>
#include <regex>

namespace
{

constexpr int untouched = 4711;
const std::size_t too_much = hidden(std::size_t{1} << 47), power = hidden(std::size_t{1} << 63);

std::string pointer(const void *ptr)
{
	return ptr ? "a pointer" : "NULL";
}

std::string number(int n)
{
	return n == EINVAL ? "EINVAL" : n == ENOMEM ? "ENOMEM" : std::to_string(n);
}

std::string posix(std::size_t align, std::size_t size)
{
	void *ptr = nullptr;
	const int error = posix_memalign(&ptr, align, size);

	free(ptr);
	return number(error);
}

/* A failing reallocation leaves the block as it is. */
std::string again(void *(*resize)(void *block))
{
	void *block = malloc(10);
	const void *resized = resize(block);

	if (!resized)
		free(block);
	return pointer(resized);
}

struct row {
	const char *call;
	std::function<std::string()> returns;
};

const std::vector<row> rows = {
	{"malloc(), valloc(), pvalloc(): too much",
	 [] {
		 return pointer(malloc(too_much)) + pointer(valloc(too_much)) +
			pointer(pvalloc(SIZE_MAX));
	 }},
	{"calloc(): too much, or an overflow",
	 [] { return pointer(calloc(1, too_much)) + pointer(calloc(too_much, too_much)); }},
	{"realloc(): too much",
	 [] { return again([](void *block) { return realloc(block, too_much); }); }},
	{"reallocarray(): an overflow",
	 [] { return again([](void *block) { return reallocarray(block, too_much, too_much); }); }},
	{"aligned_alloc(), memalign(): too much",
	 [] { return pointer(aligned_alloc(64, too_much)) + pointer(memalign(64, too_much)); }},
	{"aligned_alloc(): no power of two", [] { return pointer(aligned_alloc(hidden(24), 10)); }},
	{"memalign(): more than 2^63", [] { return pointer(memalign(power + 1, 10)); }},
	{"posix_memalign(): a wrong alignment",
	 [] { return posix(hidden(24), 10) + posix(hidden(4), 10); }},
	{"posix_memalign(): too much", [] { return posix(64, too_much); }},
	{"malloc_info(): options that are not 0",
	 [] { return std::to_string(malloc_info(1, stdout)); }},
};

/* The rows of the table: call, result, errno. */
std::vector<std::array<std::string, 3>> table_of_the_manual()
{
	std::ifstream in(MANUAL);
	const std::string text{std::istreambuf_iterator<char>(in), {}};
	const std::regex row(R"re(^\.It (.*) Ta (.*) Ta (.*)$)re", std::regex::multiline);
	std::vector<std::array<std::string, 3>> found;

	for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at)
		found.push_back({(*at)[1], (*at)[2], (*at)[3]});
	return found;
}

/* A row of several calls has their results one behind the other. */
bool is_repeated(const std::string &text, const std::string &part)
{
	std::string rest = text;

	while (!part.empty() && rest.compare(0, part.size(), part) == 0)
		rest.erase(0, part.size());
	return rest.empty() && !text.empty();
}

TEST(Errors, AreThoseOfTheManual)
{
	const auto table = table_of_the_manual();

	ASSERT_EQ(table.size(), rows.size());
	for (std::size_t i = 0; i < rows.size(); i++) {
		const auto &[call, result, error] = table[i];

		errno = untouched;
		const std::string returned = rows[i].returns();
		const std::string set = errno == untouched ? "unchanged" : number(errno);

		EXPECT_EQ(call, rows[i].call);
		EXPECT_TRUE(is_repeated(returned, result)) << call << ": " << returned;
		EXPECT_EQ(set, error) << call;
	}
}

} /* namespace */
