/* SPDX-License-Identifier: MIT */
/* Programs that tests start: with pipes on their standard streams, or to their end. */
#pragma once

#include "process.h"

/* A process started with pipes on its standard streams. */
class child_process
{
public:
	explicit child_process(const std::vector<std::string> &words)
	{
		int in[2], out[2], err[2];

		EXPECT_EQ(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC) | pipe2(err, O_CLOEXEC), 0);
		pid_ = fork();
		if (pid_ == 0) {
			std::vector<char *> argv;

			for (const std::string &word : words)
				argv.push_back(const_cast<char *>(word.c_str()));
			argv.push_back(nullptr);
			alarm(child_seconds);
			dup2(in[0], STDIN_FILENO);
			dup2(out[1], STDOUT_FILENO);
			dup2(err[1], STDERR_FILENO);
			execv(argv[0], argv.data());
			_exit(127);
		}
		close(in[0]);
		close(out[1]);
		close(err[1]);
		in_ = in[1];
		out_ = out[0];
		err_ = err[0];
	}

	~child_process()
	{
		wait();
		close(out_);
		close(err_);
	}

	child_process(const child_process &) = delete;
	child_process &operator=(const child_process &) = delete;

	pid_t pid() const { return pid_; }

	/* One line of what it prints, without the newline. */
	std::string line()
	{
		std::string text;
		char byte;

		while (read(out_, &byte, 1) == 1 && byte != '\n')
			text += byte;
		return text;
	}

	std::string rest_of_output() { return read_all(out_); }

	std::string errors() { return read_all(err_); }

	void write_line(const std::string &text)
	{
		const std::string line = text + "\n";

		EXPECT_EQ(write(in_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
	}

	void end_input()
	{
		if (in_ >= 0)
			close(in_);
		in_ = -1;
	}

	/* Its exit status, after the end of its input; -1 when a signal ended it. */
	int wait()
	{
		int status = 0;

		end_input();
		if (pid_ > 0 && waitpid(pid_, &status, 0) == pid_)
			status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		pid_ = -1;
		return status_;
	}

private:
	pid_t pid_ = -1;
	int in_ = -1, out_ = -1, err_ = -1;
	int status_ = -1;
};

struct result {
	int status;
	std::string out, err;
};

/* A program to its end, without input. */
inline result run_tool(const std::vector<std::string> &words)
{
	child_process tool(words);
	result got;

	got.out = tool.rest_of_output();
	got.err = tool.errors();
	got.status = tool.wait();
	return got;
}

inline result run_tool(const std::string &program, std::vector<std::string> words)
{
	words.insert(words.begin(), program);
	return run_tool(words);
}
