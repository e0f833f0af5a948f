/* SPDX-License-Identifier: MIT */
/* What a process answers: to requests that only read from its memory, to others on its socket. */
#pragma once

#include "answers.h"

extern "C" {
#include "attach.h"
#include "memory.h"
}

/* As libslab_inspect answers it. */
inline std::string look_text(pid_t pid, const std::string &request)
{
	char why[512] = "";
	struct slab_answer answer = {};

	fail_capture(why, sizeof(why));
	struct memory *memory = memory_open_process(pid, "");

	EXPECT_NE(memory, nullptr) << why;
	if (memory)
		memory_query(memory, request.c_str(), &answer);
	fail_capture(nullptr, 0);

	const std::string text = answer.text ? answer.text : "";

	slab_answer_free(&answer);
	memory_close(memory);
	return text;
}

/* With files and offsets of stacks, as the tools have it. */
inline json look(pid_t pid, const std::string &request)
{
	struct process process = {};

	process.pid = pid;
	process.way = WAY_MEMORY;
	json answer(attach_query(&process, request.c_str(), nullptr));

	attach_close(&process);
	return answer;
}

inline bool only_reads(const std::string &request)
{
	const std::string word = request.substr(0, request.find(' '));

	for (const char *read : {"stats", "slabs", "traces", "objects", "regions", "waste"})
		if (word == read)
			return true;
	return request == "profile";
}

/* The process of a socket, from its name. */
inline pid_t pid_of(const std::string &path)
{
	return std::atoi(path.c_str() + path.rfind('/') + 1);
}

inline std::string answer_of(const std::string &path, const std::string &request)
{
	return only_reads(request) ? look_text(pid_of(path), request)
				   : ask(path, "slab/2 " + request + "\n");
}

/* The same as JSON; it must be true that it is "ok". */
inline json query_json(const std::string &path, const std::string &request)
{
	json answer = only_reads(request)
			      ? look(pid_of(path), request)
			      : json(json_tokener_parse(answer_of(path, request).c_str()));

	EXPECT_TRUE(json_object_get_boolean(member(answer.get(), "ok"))) << request;
	return answer;
}
