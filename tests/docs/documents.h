/* SPDX-License-Identifier: MIT */
/*
 * What the test of the manual reads: files of the source tree, the options that a
 * program has, programs of the machine.
 */
#ifndef TESTS_DOCS_DOCUMENTS_H
#define TESTS_DOCS_DOCUMENTS_H

#include "../support/server.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace slab_test
{

using names = std::set<std::string>;

inline std::string in_source(const std::string &path)
{
	return std::string(SLAB_SOURCE_DIR) + "/" + path;
}

inline std::string content(const std::string &path)
{
	std::ifstream stream(path);
	std::stringstream text;

	text << stream.rdbuf();
	EXPECT_FALSE(text.str().empty()) << path;
	return text.str();
}

/* Sorted names in a folder, with the folder before them. */
inline std::vector<std::string> files_in(const std::string &folder)
{
	std::vector<std::string> files;
	DIR *listing = opendir(folder.c_str());

	EXPECT_NE(listing, nullptr) << folder;
	while (const struct dirent *entry = listing ? readdir(listing) : nullptr)
		if (entry->d_name[0] != '.')
			files.push_back(folder + "/" + entry->d_name);
	if (listing)
		closedir(listing);
	std::sort(files.begin(), files.end());
	return files;
}

/* Where a program of this machine is, "" when it is not installed. */
inline std::string find_program(const std::string &name)
{
	for (const char *folder : {"/usr/bin/", "/bin/", "/usr/local/bin/"})
		if (exists(folder + name))
			return folder + name;
	return "";
}

/* Options as a program's table for getopt_long() has them. */
struct option_table {
	names all;      /* "--slabs", "--Totals", "-l" */
	std::map<std::string, names> longer; /* of each letter: its long names */
};

/* Rows are {"slabs", no_argument, NULL, 'l'}; other code of the file is passed over. */
inline option_table options_of(const std::string &file)
{
	option_table table;

	for (const std::string &line : lines_of(content(file))) {
		const std::size_t start = line.find("{\"");
		const std::size_t end = line.find("\", ", start + 2);
		const std::size_t letter = line.find(", '", end);

		if (start == std::string::npos || end == std::string::npos ||
		    !contains(line, "_argument, "))
			continue;
		const std::string name = "--" + line.substr(start + 2, end - start - 2);

		table.all.insert(name);
		if (letter == std::string::npos)
			continue;
		table.all.insert(std::string("-") + line[letter + 3]);
		table.longer[std::string("-") + line[letter + 3]].insert(name);
	}
	EXPECT_GE(table.all.size(), 5U) << file;
	return table;
}

inline option_table options_of_slabinfo()
{
	return options_of(in_source("tools/slabinfo/options.c"));
}

inline option_table options_of_exporter()
{
	return options_of(in_source("tools/exporter/settings.c"));
}

/* All words of a text that are spelt like options. */
inline names options_in(const std::string &text)
{
	names found;
	std::size_t end = 0;

	for (std::size_t at = text.find('-'); at != std::string::npos; at = text.find('-', end)) {
		const bool starts =
			at == 0 || !(std::isalnum(static_cast<unsigned char>(text[at - 1])) ||
				     contains("-_]", std::string(1, text[at - 1])));
		const auto in_option = [](char c) {
			return std::isalnum(static_cast<unsigned char>(c)) || c == '-';
		};

		end = at;
		while (end < text.size() && in_option(text[end]))
			end++;
		const std::string word = text.substr(at, end - at);

		if (starts && word.find_first_not_of('-') != std::string::npos &&
		    word.back() != '-' && (word.compare(0, 2, "--") == 0 || word.size() == 2))
			found.insert(word);
	}
	return found;
}

} /* namespace slab_test */

#endif /* TESTS_DOCS_DOCUMENTS_H */
