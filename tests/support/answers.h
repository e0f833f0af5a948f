/* SPDX-License-Identifier: MIT */
/* What tools print and servers answer, taken apart: lines, words, tables, JSON. */
#pragma once

#include <json-c/json.h>

#include "child_process.h"
#include "client.h"

inline bool contains(const std::string &text, const std::string &words)
{
	return text.find(words) != std::string::npos;
}

/* --- text ------------------------------------------------------------------------ */

inline std::vector<std::string> lines_of(const std::string &text)
{
	std::istringstream stream(text);
	std::vector<std::string> lines;
	std::string line;

	while (std::getline(stream, line))
		lines.push_back(line);
	return lines;
}

inline std::vector<std::string> words_of(const std::string &line)
{
	std::istringstream stream(line);
	std::vector<std::string> words;
	std::string word;

	while (stream >> word)
		words.push_back(word);
	return words;
}

/* The columns of the row of cache `name`. */
inline std::vector<std::string> row_of(const std::string &table, const std::string &name)
{
	for (const std::string &line : lines_of(table)) {
		const std::vector<std::string> words = words_of(line);

		if (!words.empty() && words[0] == name)
			return words;
	}
	return {};
}

/* --- JSON ------------------------------------------------------------------------- */

struct json_deleter {
	void operator()(struct json_object *object) const { json_object_put(object); }
};
using json = std::unique_ptr<struct json_object, json_deleter>;

inline struct json_object *member(struct json_object *object, const std::string &key)
{
	struct json_object *found = nullptr;

	EXPECT_TRUE(json_object_object_get_ex(object, key.c_str(), &found)) << key;
	return found;
}

inline std::uint64_t number(struct json_object *object, const std::string &key)
{
	return json_object_get_uint64(member(object, key));
}

/* What the control socket answers to a request; it must be true that it is "ok". */
inline json query_json(const std::string &path, const std::string &request)
{
	json answer(json_tokener_parse(ask(path, "slab/2 " + request + "\n").c_str()));

	EXPECT_TRUE(json_object_get_boolean(member(answer.get(), "ok"))) << request;
	return answer;
}
