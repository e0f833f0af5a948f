/* SPDX-License-Identifier: MIT */
/* A terminal for programs under test: a tmux server of its own. */
#pragma once

#include "../support/server.h"

class terminal
{
public:
	/* Runs a shell command; when it has ended the screen says "status N". */
	terminal(const runtime_dir &dir, int columns, int rows, const std::string &command)
		: socket_(dir.path() + "/tmux" + std::to_string(opened()++))
	{
		tmux("new-session -d -x " + std::to_string(columns) + " -y " +
		     std::to_string(rows) + " 'exec 2>&1; " + command +
		     "; echo status $?; exec sleep " + std::to_string(child_seconds) + "'");
	}

	~terminal()
	{
		tmux("kill-server");
	}

	terminal(const terminal &) = delete;
	terminal &operator=(const terminal &) = delete;

	/* Keys as tmux calls them: "Enter", "C-c", "q". */
	void press(const std::string &keys)
	{
		tmux("send-keys " + keys);
	}

	void resize(int columns, int rows)
	{
		tmux("resize-window -x " + std::to_string(columns) + " -y " + std::to_string(rows));
	}

	std::string screen()
	{
		return tmux("capture-pane -p");
	}

	/* The screen when it shows `text` (or does not any more): as it is a moment later,
	 * so that it is not seen while it is drawn. */
	std::string expect(const std::string &text, bool shown = true)
	{
		std::string now;
		bool seen = false;

		for (int i = 0; i < patience_ms / poll_ms; i++) {
			now = screen();
			if (contains(now, text) != shown)
				seen = false;
			else if (seen)
				return now;
			else
				seen = true;
			usleep(poll_ms * 1000);
		}
		ADD_FAILURE() << "the screen " << (shown ? "never shows" : "goes on showing")
			      << " \"" << text << "\":\n"
			      << now;
		return now;
	}

	/* The first line that starts with `start`, "" when there is none. */
	std::string line(const std::string &start)
	{
		for (const std::string &text : lines_of(screen()))
			if (text.compare(0, start.size(), start) == 0)
				return text;
		return "";
	}

private:
	static constexpr int patience_ms = 30000, poll_ms = 30;

	std::string tmux(const std::string &words)
	{
		const std::string command = "env -u TMUX -u TMUX_PANE LC_ALL=C.UTF-8 " TMUX
					    " -u -f /dev/null -S " +
					    socket_ + " " + words + " 2>&1";
		FILE *pipe = popen(command.c_str(), "r");
		std::string said = pipe ? read_all(fileno(pipe)) : "";

		EXPECT_TRUE(pipe && pclose(pipe) == 0) << command << ": " << said;
		return said;
	}

	/* A server that is still ending is no server for the next terminal. */
	static unsigned &opened()
	{
		static unsigned count;

		return count;
	}

	std::string socket_;
};
