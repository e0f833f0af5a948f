/* SPDX-License-Identifier: MIT */
/*
 * What tests of files that slabinfo writes share: a directory to work in, and Python to
 * look at them.
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

/* The picture is XML. */
inline void expect_xml(const std::string &text)
{
	const result got = python(
		{"-c", "import sys, xml.dom.minidom as dom; dom.parseString(sys.stdin.read())"},
		text);

	EXPECT_TRUE(got.status == 0 || got.status == 127) << got.err << text;
}
