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

inline bool ends_with(const std::string &text, const std::string &end)
{
	return text.size() >= end.size() &&
	       text.compare(text.size() - end.size(), end.size(), end) == 0;
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

inline struct json_object *find_cache(struct json_object *document, const std::string &name)
{
	struct json_object *caches = member(document, "caches");

	for (std::size_t i = 0; i < json_object_array_length(caches); i++) {
		struct json_object *cache = json_object_array_get_idx(caches, i);

		if (name == json_object_get_string(member(cache, "name")))
			return cache;
	}
	ADD_FAILURE() << "no cache " << name;
	return nullptr;
}

inline std::string text(struct json_object *object, const std::string &key)
{
	const char *value = json_object_get_string(member(object, key));

	return value ? value : "";
}

/* What --json prints, without the numbers that the time alone changes. */
inline std::string quiet_json(const result &got)
{
	json document(json_tokener_parse(got.out.c_str()));
	struct json_object *process;

	EXPECT_EQ(got.status, 0) << got.err;
	if (!document)
		return "none";
	process = member(document.get(), "process");
	json_object_object_del(process, "uptime");
	json_object_object_del(process, "now");
	return json_object_to_json_string_ext(document.get(), JSON_C_TO_STRING_PRETTY);
}
