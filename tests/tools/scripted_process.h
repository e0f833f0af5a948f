/* SPDX-License-Identifier: MIT */
/*
 * A process that answers the requests of the control protocol as a test wants: its numbers
 * are known, so that what slabinfo prints can be compared byte by byte.
 */
#pragma once

#include "../support/server.h"

class scripted_process
{
public:
	/* The answer to a request, and how many requests for statistics came before. */
	using answers = std::string (*)(const std::string &request, unsigned asked);

	scripted_process(const runtime_dir &dir, answers answer)
	{
		int orders[2], replies[2];

		mkdir((dir.path() + "/slab").c_str(), 0700);
		EXPECT_EQ(pipe2(orders, O_CLOEXEC) | pipe2(replies, O_CLOEXEC), 0);
		pid_ = fork();
		if (pid_ == 0) {
			alarm(child_seconds);
			close(orders[1]);
			serve(dir, answer, orders[0], replies[1]);
			_exit(0);
		}
		close(orders[0]);
		close(replies[1]);
		orders_ = orders[1];
		replies_ = replies[0];
		order('o');
	}

	~scripted_process()
	{
		end();
		close(orders_);
		close(replies_);
	}

	scripted_process(const scripted_process &) = delete;
	scripted_process &operator=(const scripted_process &) = delete;

	pid_t pid() const
	{
		return pid_;
	}

	/* Until answer_again(), no client can connect. */
	void stop_answering()
	{
		order('c');
	}

	void answer_again()
	{
		order('o');
	}

	void end()
	{
		if (pid_ > 0) {
			kill(pid_, SIGKILL);
			waitpid(pid_, nullptr, 0);
		}
		pid_ = -1;
	}

private:
	void order(char what)
	{
		char done;

		EXPECT_EQ(write(orders_, &what, 1), 1);
		EXPECT_EQ(read(replies_, &done, 1), 1);
	}

	static std::string answer_to(const std::string &request, answers answer, unsigned *asked)
	{
		const std::string line = request.substr(0, request.find('\n'));
		const std::string words = line.substr(std::strlen("slab/2 "));

		*asked += words == "stats";
		return answer(words, *asked) + "\n";
	}

	static void serve(const runtime_dir &dir, answers answer, int orders, int replies)
	{
		int listener = -1;
		unsigned asked = 0;
		char order;

		for (;;) {
			struct pollfd fds[] = {{orders, POLLIN, 0}, {listener, POLLIN, 0}};

			poll(fds, 2, -1);
			if (fds[1].revents)
				answer_one(listener, [&](const std::string &request) {
					return answer_to(request, answer, &asked);
				});
			if (!fds[0].revents)
				continue;
			if (read(orders, &order, 1) != 1)
				return;
			if (order == 'o') {
				listener = listen_in(dir);
			} else {
				close(listener);
				unlink(dir.socket(getpid()).c_str());
				listener = -1;
			}
			if (write(replies, &order, 1) != 1)
				return;
		}
	}

	pid_t pid_ = -1;
	int orders_ = -1, replies_ = -1;
};
