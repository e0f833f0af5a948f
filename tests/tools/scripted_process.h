/* SPDX-License-Identifier: MIT */
/*
 * A process that answers the requests of the control protocol as a test wants: its numbers
 * are known, so that what slabinfo prints can be compared byte by byte.
 */
#ifndef TESTS_TOOLS_SCRIPTED_PROCESS_H
#define TESTS_TOOLS_SCRIPTED_PROCESS_H

#include "../support/server.h"

namespace slab_test
{

class scripted_process
{
public:
	/* The answer to a request, and how many requests for statistics came before. */
	using answers = std::string (*)(const std::string &request, unsigned asked);

	scripted_process(const runtime_dir &dir, answers answer) : path_(dir.path() + "/slab/")
	{
		int orders[2], replies[2];

		mkdir(path_.c_str(), 0700);
		EXPECT_EQ(pipe2(orders, O_CLOEXEC) | pipe2(replies, O_CLOEXEC), 0);
		pid_ = fork();
		if (pid_ == 0) {
			alarm(child_seconds);
			close(orders[1]);
			path_ += std::to_string(getpid()) + ".sock";
			serve(answer, orders[0], replies[1]);
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

	int listen_there() const
	{
		struct sockaddr_un address = {};
		const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		address.sun_family = AF_UNIX;
		std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
		if (bind(listener, reinterpret_cast<struct sockaddr *>(&address),
			 sizeof(address)) ||
		    listen(listener, 8))
			_exit(1);
		return listener;
	}

	static void answer_one(int listener, answers answer, unsigned *asked)
	{
		const int fd = accept(listener, nullptr, nullptr);
		char request[200] = "";

		if (fd >= 0 && recv(fd, request, sizeof(request) - 1, 0) > 0) {
			const std::string line(request, std::strcspn(request, "\n"));
			const std::string words = line.substr(std::strlen("slab/2 "));

			*asked += words == "stats";
			const std::string text = answer(words, *asked) + "\n";

			send(fd, text.data(), text.size(), MSG_NOSIGNAL);
		}
		close(fd);
	}

	void serve(answers answer, int orders, int replies) const
	{
		int listener = -1;
		unsigned asked = 0;
		char order;

		for (;;) {
			struct pollfd fds[] = {{orders, POLLIN, 0}, {listener, POLLIN, 0}};

			poll(fds, 2, -1);
			if (fds[1].revents)
				answer_one(listener, answer, &asked);
			if (!fds[0].revents)
				continue;
			if (read(orders, &order, 1) != 1)
				return;
			if (order == 'o') {
				listener = listen_there();
			} else {
				close(listener);
				unlink(path_.c_str());
				listener = -1;
			}
			if (write(replies, &order, 1) != 1)
				return;
		}
	}

	std::string path_;
	pid_t pid_ = -1;
	int orders_ = -1, replies_ = -1;
};

} /* namespace slab_test */

#endif /* TESTS_TOOLS_SCRIPTED_PROCESS_H */
