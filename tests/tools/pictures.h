/* SPDX-License-Identifier: MIT */
/*
 * What the tests of --record, --plot, --map and --diff share: a directory to work in,
 * files in it, expected outputs, the schema.
 */
#pragma once

#include "../support/server.h"

/* A runtime directory that is the working directory, too, so that files have names
 * that are always the same; times are those of UTC. */
class work_dir : public runtime_dir
{
public:
	work_dir()
	{
		EXPECT_EQ(chdir(path().c_str()), 0);
		setenv("TZ", "UTC", 1);
	}

	~work_dir()
	{
		EXPECT_EQ(chdir("/"), 0);
	}
};

/* With GOLDEN_WRITE set in the environment the file is written instead of compared. */
inline void expect_golden(const std::string &name, const std::string &got)
{
	const std::string path = std::string(GOLDEN) + "/" + name;

	if (std::getenv("GOLDEN_WRITE"))
		write_file(path, got);
	EXPECT_EQ(got, file_text(path)) << name;
}

/* python3 does this with the text as its input; status 127: it is not installed. */
inline result python(const std::vector<std::string> &words, const std::string &input)
{
	std::vector<std::string> command = {"/usr/bin/python3"};

	if (access(command[0].c_str(), X_OK) != 0)
		return {127, "", ""};
	command.insert(command.end(), words.begin(), words.end());
	child_process interpreter(command);
	result got;

	interpreter.write_line(input);
	interpreter.end_input();
	got.out = interpreter.rest_of_output();
	got.err = interpreter.errors();
	got.status = interpreter.wait();
	return got;
}

/* Whether the documents are as docs/schema says and have no member that it does not
 * describe; where there is no validator, whatever is expected. */
inline void expect_validity(const std::string &documents, bool valid)
{
	const result got = python({VALIDATE, SCHEMA}, documents);

	if (got.status != 77 && got.status != 127) {
		EXPECT_EQ(got.status, valid ? 0 : 1) << got.out << got.err << documents;
	}
}

inline void expect_valid(const std::string &documents)
{
	expect_validity(documents, true);
}

inline void expect_not_valid(const std::string &documents)
{
	expect_validity(documents, false);
}

/* The picture is XML. */
inline void expect_xml(const std::string &text)
{
	const result got = python(
		{"-c", "import sys, xml.dom.minidom as dom; dom.parseString(sys.stdin.read())"},
		text);

	EXPECT_TRUE(got.status == 0 || got.status == 127) << got.err << text;
}

/* The picture without its style sheet, which is text of the source. */
inline std::string without_style(std::string picture)
{
	const std::size_t start = picture.find("<style>"), end = picture.find("</style>");

	EXPECT_NE(end, std::string::npos);
	return end == std::string::npos ? picture : picture.erase(start, end - start);
}

inline std::string replaced(std::string text, const std::string &from, const std::string &to)
{
	for (std::size_t at = text.find(from); at != std::string::npos;
	     at = text.find(from, at + to.size()))
		text.replace(at, from.size(), to);
	return text;
}
