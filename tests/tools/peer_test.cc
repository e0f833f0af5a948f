/* SPDX-License-Identifier: MIT */
/*
 * slabinfo and processes that listen where it connects: one that is not the process of
 * the socket's name, one that answers for ever, one that sends terminal commands.
 */
#include "../support/server.h"

extern "C" {
#include "printable.h"
}

namespace
{

/* A process that listens as process `name` (0: as itself) and answers clients as it is
 * made to. */
class listener
{
public:
	using manner = void (*)(int client);

	/* `become` is done before it listens, `afterwards` when it does; `flags` of clone(). */
	explicit listener(const runtime_dir &dir, manner answer, pid_t name = 0,
			  void (*become)() = nullptr, void (*afterwards)() = nullptr, int flags = 0)
	{
		int ready[2];
		char byte;

		mkdir((dir.path() + "/slab").c_str(), 0700);
		EXPECT_EQ(pipe2(ready, O_CLOEXEC), 0);
		pid_ = static_cast<pid_t>(syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0));
		if (pid_ == 0) {
			alarm(child_seconds);
			const int fd = listen_at(dir.socket(name ? name : getpid()), become);

			if (afterwards)
				afterwards();
			if (write(ready[1], "", 1) == 1)
				serve(fd, answer);
			_exit(1);
		}
		close(ready[1]);
		if (pid_ > 0) {
			EXPECT_EQ(read(ready[0], &byte, 1), 1);
		}
		close(ready[0]);
	}

	~listener()
	{
		if (pid_ > 0) {
			kill(pid_, SIGKILL);
			waitpid(pid_, nullptr, 0);
		}
	}

	listener(const listener &) = delete;
	listener &operator=(const listener &) = delete;

	pid_t pid() const { return pid_; }

private:
	static int listen_at(const std::string &path, void (*become)())
	{
		struct sockaddr_un address = {};
		const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		address.sun_family = AF_UNIX;
		std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
		if (bind(fd, reinterpret_cast<struct sockaddr *>(&address), sizeof(address)))
			_exit(1);
		if (become)
			become();
		if (listen(fd, 8))
			_exit(1);
		return fd;
	}

	[[noreturn]] static void serve(int fd, manner answer)
	{
		signal(SIGPIPE, SIG_IGN);
		for (;;) {
			const int client = accept(fd, nullptr, nullptr);
			char request[200];

			if (client >= 0 && recv(client, request, sizeof(request), 0) > 0)
				answer(client);
			close(client);
		}
	}

	pid_t pid_;
};

void say_cache(int client)
{
	const std::string text = "{\"slab\":2,\"ok\":true,\"process\":{\"pid\":1},\"caches\":["
				 "{\"name\":\"forged\",\"object_size\":8,\"slabs\":1}]}\n";

	send(client, text.data(), text.size(), 0);
}

void drip(int client)
{
	while (send(client, " ", 1, 0) == 1)
		usleep(200000);
}

void pour(int client)
{
	const std::string text(1 << 20, ' ');

	while (send(client, text.data(), text.size(), 0) > 0)
		;
}

class PeerTest : public testing::Test
{
protected:
	static void expect_nobody()
	{
		const result got = slabinfo();

		EXPECT_EQ(got.status, 2);
		EXPECT_EQ(got.out, "");
		EXPECT_EQ(got.err, "slabinfo: no process has slab caches\n");
	}

	runtime_dir dir;
};

/* --- its identity ----------------------------------------------------------------- */

TEST_F(PeerTest, AListenerUnderItsOwnPidIsBelieved)
{
	const listener process(dir, say_cache);

	EXPECT_TRUE(contains(slabinfo().out, "forged"));
}

TEST_F(PeerTest, AListenerUnderAnotherPidIsNot)
{
	const listener process(dir, say_cache, getpid());

	expect_nobody();
}

TEST_F(PeerTest, AProcessThatTakesTheSocketOverIsNotQueried)
{
	server process;
	const std::string path = dir.socket(process.pid());

	ASSERT_EQ(unlink(path.c_str()), 0);
	const listener thief(dir, say_cache, process.pid());
	const result got = slabinfo({"-p", std::to_string(process.pid())});

	EXPECT_TRUE(contains(got.out, "entry")) << got.err;
	EXPECT_FALSE(contains(got.out, "forged"));
}

TEST_F(PeerTest, AListenerOfAnotherUserIsNot)
{
	if (geteuid() != 0)
		GTEST_SKIP() << "only root can be two users";
	const listener process(
		dir, say_cache, 0,
		[] {
			if (setresuid(0, 65534, 0))
				_exit(1);
		},
		[] {
			if (setresuid(0, 0, 0))
				_exit(1);
		});

	expect_nobody();
}

TEST_F(PeerTest, AListenerThatGaveUpRootIsBelieved)
{
	if (geteuid() != 0)
		GTEST_SKIP() << "only root can give it up";
	const listener process(dir, say_cache, 0, nullptr, [] {
		if (setuid(65534))
			_exit(1);
	});

	EXPECT_TRUE(contains(slabinfo().out, "forged"));
}

TEST_F(PeerTest, OneInAContainerIsCalledAsItIsHere)
{
	const listener process(dir, say_cache, 0, nullptr, nullptr, CLONE_NEWPID);

	if (process.pid() < 0)
		GTEST_SKIP() << "no pid namespaces: " << std::strerror(errno);
	EXPECT_TRUE(exists(dir.socket(1)));
	EXPECT_EQ(row_of(slabinfo({"--list"}).out, std::to_string(process.pid())).size(), 3U);
	EXPECT_TRUE(contains(slabinfo({"-p", std::to_string(process.pid())}).out, "forged"));
}

/* --- how long it answers ----------------------------------------------------------- */

TEST_F(PeerTest, AnAnswerThatDripsIsNotWaitedFor)
{
	const listener process(dir, drip);
	const result got = slabinfo({"-p", std::to_string(process.pid())});

	EXPECT_EQ(got.status, 2);
	EXPECT_TRUE(contains(got.err, " does not answer: it took too long\n")) << got.err;
}

TEST_F(PeerTest, AnAnswerWithoutEndIsCutOff)
{
	const listener process(dir, pour);
	const result got = slabinfo({"-p", std::to_string(process.pid())});

	EXPECT_EQ(got.status, 2);
	EXPECT_TRUE(contains(got.err, " sent an answer of more than 256 MiB\n")) << got.err;
}

/* --- what it sends ----------------------------------------------------------------- */

TEST_F(PeerTest, NamesDoNotCommandTheTerminal)
{
	const char answer[] =
		"{\"slab\":2,\"ok\":true,\"process\":{\"pid\":1,\"engine\":\"\\u001b[31m\"},"
		"\"caches\":[{\"name\":\"red\\u001b[31m\\u009b31m\",\"object_size\":8,\"slabs\":1,"
		"\"objects\":3,\"order\":4}]}\n";

	with_impostor(dir, answer, [](pid_t) {
		for (const std::vector<std::string> &words : std::vector<std::vector<std::string>>{
			     {}, {"--report"}, {"--totals"}, {"--numa"}}) {
			const result got = slabinfo(words);

			EXPECT_FALSE(contains(got.out, "\x1b")) << got.out;
			EXPECT_FALSE(contains(got.out, "\xc2\x9b")) << got.out;
		}
		EXPECT_TRUE(contains(slabinfo().out, "red?[31m"));
		EXPECT_TRUE(contains(slabinfo({"--json"}).out, "\"red\\u001b[31m"));
	});
}

TEST_F(PeerTest, ErrorsDoNotCommandTheTerminal)
{
	with_impostor(dir, "{\"slab\":2,\"ok\":false,\"error\":\"\\u001b]0;x\\u0007 \\u009b1m\"}\n",
		      [](pid_t) {
			      EXPECT_TRUE(contains(slabinfo().err, ": ?]0;x? ??1m\n"))
				      << slabinfo().err;
		      });
}

TEST(PrintableTest, ControlCharactersAndWhatIsNoUTF8AreReplaced)
{
	const struct {
		const char *text, *printable;
	} cases[] = {
		{"", ""},
		{"entry", "entry"},
		{"Größe €𐍈", "Größe €𐍈"},
		{"\x1b[31m\t\x7f\n", "?[31m???"},
		{"\xc2\x9b"
		 "1m\xc2\x80\xc2\xa0",
		 "??1m??\xc2\xa0"},
		{"\x9b"
		 "1m\xff\xc3",
		 "?1m??"},
		{"\xc0\x9b\xed\xa0\x80\xf4\x90\x80\x80", "?????????"},
	};

	for (const auto &one : cases) {
		std::string text = one.text;

		EXPECT_EQ(is_printable(one.text), text == one.printable) << one.printable;
		make_printable(text.data());
		EXPECT_EQ(text, one.printable);
	}
}

} /* namespace */
