/* SPDX-License-Identifier: MIT */
/*
 * What many, slow and hostile clients do to the control socket: nothing that
 * other clients would notice.
 */
#include "../support/looks.h"
#include "../support/server.h"

#include <slab/control.h>

namespace
{

class HardeningTest : public testing::Test
{
protected:
	bool alive(pid_t pid)
	{
		return contains(ask(dir.socket(pid), "slab/2 ping\n"), "\"ok\":true");
	}

	runtime_dir dir;
};

using clients = std::vector<std::unique_ptr<client>>;

void connect_some(clients &some, const std::string &path, int n)
{
	for (int i = 0; i < n; i++)
		some.push_back(std::make_unique<client>(path));
}

/* A server that is a child of the test, which has created no cache so far: prepare()
 * is run in it. */
class forked_server
{
public:
	explicit forked_server(const std::function<void()> &prepare)
	{
		int ready[2];
		char byte;

		EXPECT_EQ(pipe2(ready, O_CLOEXEC), 0);
		pid_ = fork();
		if (pid_ < 0)
			std::abort();
		if (pid_ == 0) {
			alarm(child_seconds);
			prepare();
			if (write(ready[1], "", 1) == 1)
				for (;;)
					pause();
			_exit(1);
		}
		EXPECT_EQ(read(ready[0], &byte, 1), 1);
		close(ready[0]);
		close(ready[1]);
	}

	~forked_server()
	{
		int status = 0;

		EXPECT_EQ(waitpid(pid_, &status, WNOHANG), 0) << "it ended: " << status;
		kill(pid_, SIGKILL);
		waitpid(pid_, nullptr, 0);
	}

	forked_server(const forked_server &) = delete;
	forked_server &operator=(const forked_server &) = delete;

	pid_t pid() const { return pid_; }

private:
	pid_t pid_;
};

/* Statistics that are an answer of more than two megabytes. */
constexpr int many_caches = 3000;

void create_many_caches()
{
	for (int i = 0; i < many_caches; i++) {
		const std::string name = "cache-with-a-long-name-" + std::to_string(i);

		slab_cache_create(name.c_str(), 64, nullptr, SLAB_PANIC);
	}
}

/* --- many ------------------------------------------------------------------------------- */

TEST_F(HardeningTest, TwoHundredClientsAtOnceAreAllAnswered)
{
	server process;
	const std::string path = dir.socket(process.pid());
	std::vector<std::thread> threads;
	std::vector<std::string> answers(200);

	for (std::string &answer : answers)
		threads.emplace_back([&answer, &path] { answer = ask(path, "slab/2 ping\n"); });
	for (std::thread &thread : threads)
		thread.join();
	for (const std::string &answer : answers)
		EXPECT_TRUE(contains(answer, "\"ok\":true")) << answer;
}

TEST_F(HardeningTest, TheClientIdleLongestMakesRoom)
{
	server process;
	const std::string path = dir.socket(process.pid());
	clients all;

	connect_some(all, path, 1);
	usleep(50000); /* it has been accepted, and is the oldest by far */
	connect_some(all, path, 63);
	EXPECT_TRUE(alive(process.pid()));
	EXPECT_EQ(all[0]->answer(), "");
	for (std::size_t i = 1; i < all.size(); i++) {
		all[i]->send("slab/2 ping\n");
		EXPECT_TRUE(contains(all[i]->answer(), "\"ok\":true")) << i;
	}
}

TEST_F(HardeningTest, ANewcomerWaitsWhileAllAreBusy)
{
	server process;
	const std::string path = dir.socket(process.pid());
	clients all;

	connect_some(all, path, 65);
	usleep(50000); /* they have been accepted, but the last one */
	for (auto &one : all)
		one->send("slab/2 ping\n");
	for (auto &one : all)
		EXPECT_TRUE(contains(one->answer(), "\"ok\":true"));
}

TEST_F(HardeningTest, AStormOfConnectionsIsHarmless)
{
	server process;
	const std::string path = dir.socket(process.pid());

	for (int i = 0; i < 3000; i++)
		EXPECT_TRUE(client(path).connected());
	EXPECT_TRUE(alive(process.pid()));
}

TEST_F(HardeningTest, ARunOutOfDescriptorsIsWaitedOut)
{
	forked_server process([] {
		const struct rlimit few = {24, 24};

		setrlimit(RLIMIT_NOFILE, &few);
		slab_cache_create("some", 64, nullptr, SLAB_PANIC);
	});
	const std::string path = dir.socket(process.pid());
	{
		clients some;

		connect_some(some, path, 40);
	}
	EXPECT_TRUE(alive(process.pid()));
}

/* --- slow --------------------------------------------------------------------------------- */

TEST_F(HardeningTest, ALargeAnswerArrivesWhole)
{
	server process;
	const std::string path = dir.socket(process.pid());
	json ping(json_tokener_parse(ask(path, "slab/2 ping\n").c_str()));
	const std::string root = text(ping.get(), "root");
	const std::string answer = ask_last(path, "slab/2 read " + root + " 64 0 4096\n");
	const std::size_t line = answer.find('\n') + 1;

	ASSERT_EQ(answer.size() - line, std::size_t{64} * 4096);
	EXPECT_EQ(answer.substr(line, 64), answer.substr(answer.size() - 64));
}

/* In a child: libslab reads its environment once, and this process starts others. */
TEST_F(HardeningTest, ManyCachesAreRead)
{
	forked_server process(create_many_caches);

	EXPECT_EQ(run_in_child([&] {
			  json document(
				  json_tokener_parse(look_text(process.pid(), "stats").c_str()));

			  return json_object_array_length(member(document.get(), "caches")) ==
						 std::size_t{many_caches}
					 ? 0
					 : 1;
		  }),
		  "");
}

/* --- wrong -------------------------------------------------------------------------------- */

TEST_F(HardeningTest, ZeroBytesAreRefused)
{
	server process;
	const std::string path = dir.socket(process.pid());

	EXPECT_TRUE(contains(ask(path, std::string("slab/2 ping\0\n", 13)), "no zero bytes"));
	EXPECT_TRUE(contains(ask(path, std::string("\0\n", 2)), "no zero bytes"));
	EXPECT_TRUE(contains(ask(path, std::string("slab/2 ping\n\0", 13)), "\"ok\":true"));
}

TEST_F(HardeningTest, AClientThatSendsNothingGetsNothing)
{
	server process;
	client quiet(dir.socket(process.pid()));

	quiet.end_requests();
	EXPECT_EQ(quiet.answer(), "");
	EXPECT_TRUE(alive(process.pid()));
}

TEST_F(HardeningTest, WhatFollowsTheFirstLineIsIgnored)
{
	server process;
	const std::string answer = ask(dir.socket(process.pid()),
				       "slab/2 ping\nslab/2 trim\n" + std::string(3000, 'x'));

	EXPECT_TRUE(contains(answer, "\"pid\""));
	EXPECT_EQ(lines_of(answer).size(), 1U);
}

/* --- rights --------------------------------------------------------------------------------- */

constexpr uid_t nobody = 65534;

bool become_nobody()
{
	return setgid(nobody) == 0 && setuid(nobody) == 0;
}

/* A server of that user, which the user may look into or not. */
std::function<void()> server_of_nobody(int dumpable)
{
	return [dumpable] {
		if (!become_nobody() || prctl(PR_SET_DUMPABLE, dumpable) != 0)
			_exit(1);
		if (!slab_alloc(slab_cache_create("entry", 64, nullptr, SLAB_PANIC)))
			_exit(1);
	};
}

/* What that user is answered; 0: as expected. */
std::string as_nobody(const std::string &path, const std::string &request,
		      const std::string &expected)
{
	return run_in_child([&] {
		if (!become_nobody())
			return 1;
		const std::string answer = ask(path, request);

		const bool good = expected.empty() ? answer.empty() : contains(answer, expected);

		return good ? 0 : 2;
	});
}

TEST_F(HardeningTest, AProcessThatIsNotDumpableServesRootAlone)
{
	if (geteuid() != 0)
		GTEST_SKIP() << "needs root";
	chmod(dir.path().c_str(), 0777);
	forked_server process(server_of_nobody(0));
	const std::string path = dir.socket(process.pid());

	EXPECT_EQ(as_nobody(path, "slab/2 ping\n", ""), "");
	EXPECT_TRUE(alive(process.pid()));
}

TEST_F(HardeningTest, OnlyRootMakesAllocationsFail)
{
	if (geteuid() != 0)
		GTEST_SKIP() << "needs root";
	chmod(dir.path().c_str(), 0777);
	forked_server process(server_of_nobody(1));
	const std::string path = dir.socket(process.pid());

	EXPECT_EQ(as_nobody(path, "slab/2 fail interval=5\n", "only root may"), "");
	EXPECT_EQ(as_nobody(path, "slab/2 set limit 1000000 entry\n", "\"ok\":true"), "");
	EXPECT_EQ(as_nobody(path, "slab/2 set limit 4096 entry\n", "only root may"), "");
	EXPECT_TRUE(contains(ask(path, "slab/2 fail interval=5\n"), "\"ok\":true"));
}

TEST_F(HardeningTest, ASocketThatOthersPutInItsPlaceIsLeftAlone)
{
	server process;
	const std::string path = dir.socket(process.pid());
	struct sockaddr_un address = {};
	const int other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sun_family = AF_UNIX;
	std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
	ASSERT_EQ(unlink(path.c_str()), 0);
	ASSERT_EQ(bind(other, reinterpret_cast<struct sockaddr *>(&address), sizeof(address)), 0);
	EXPECT_EQ(process.wait(), 0);
	EXPECT_TRUE(exists(path));
	close(other);
}

} /* namespace */
