/* SPDX-License-Identifier: MIT */
/* Notes on stderr: one line each; the last one of a process that cannot go on; writes that neither
 * end nor stop the program. */
#include "../support/process.h"
#include "../support/rooms.h"

namespace
{

TEST(NoteTest, NotesAreOneLine)
{
	testing::internal::CaptureStderr();
	errno = 77;
	slab_note("%s=%d", "answer", 42);
	slab_note("%s", std::string(2000, 'x').c_str());
	EXPECT_EQ(errno, 77);
	const std::string text = testing::internal::GetCapturedStderr();

	EXPECT_EQ(text.compare(0, 28, "libslab: answer=42\nlibslab: "), 0);
	EXPECT_EQ(text.find('\n', 28), text.size() - 1);
}

TEST(NoteTest, FatalIsOneLineAndAbort)
{
	use_threadsafe_death_tests();
	EXPECT_DEATH(slab_fatal("no memory for %d bytes", 48), "libslab: no memory for 48 bytes\n");
}

/* --- writes ---------------------------------------------------------------------------------- */

struct ends {
	int read, write;
};

ends pipe_ends()
{
	std::array<int, 2> fd = {-1, -1};

	EXPECT_EQ(pipe2(fd.data(), O_CLOEXEC), 0);
	return {fd[0], fd[1]};
}

ends socket_ends()
{
	std::array<int, 2> fd = {-1, -1};

	EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd.data()), 0);
	return {fd[0], fd[1]};
}

/* The descriptor stays blocking, as the program has it. */
void fill(int fd)
{
	const std::string page(4096, 'x');
	const int flags = fcntl(fd, F_GETFL);

	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	while (write(fd, page.data(), page.size()) > 0 || write(fd, "x", 1) > 0)
		;
	fcntl(fd, F_SETFL, flags);
}

bool is_pending(int number)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, number) == 1;
}

void set_blocked(int number, bool blocked)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, nullptr);
}

class NoteWriteTest : public testing::TestWithParam<ends (*)()>
{
};

INSTANTIATE_TEST_SUITE_P(To, NoteWriteTest, testing::Values(pipe_ends, socket_ends),
			 [](const auto &info) {
				 return std::string(info.index ? "ASocket" : "APipe");
			 });

/* Nor is a signal left to a thread that blocks it. */
TEST_P(NoteWriteTest, WithoutAReaderDoesNotEndTheProgram)
{
	for (bool blocked : {false, true})
		EXPECT_IN_CHILD([blocked] {
			const ends of = GetParam()();

			close(of.read);
			set_blocked(SIGPIPE, blocked);
			note_write(of.write, "text\n", 5);
			return is_pending(SIGPIPE);
		});
}

TEST_P(NoteWriteTest, WithoutAReaderKeepsTheSignalThatTheProgramWaitsFor)
{
	EXPECT_IN_CHILD([] {
		const ends of = GetParam()();

		close(of.read);
		set_blocked(SIGPIPE, true);
		raise(SIGPIPE);
		note_write(of.write, "text\n", 5);
		return !is_pending(SIGPIPE);
	});
}

/* Several threads: the pipe may fill between the look of one and its write. */
TEST_P(NoteWriteTest, IntoAFullOneEnds)
{
	EXPECT_IN_CHILD([] {
		const ends of = GetParam()();
		const std::string page(4096, 'y');
		std::vector<std::thread> threads;

		fill(of.write);
		for (int i = 0; i < 4; i++)
			threads.emplace_back(
				[&] { note_write(of.write, page.data(), page.size()); });
		join_all(threads);
		return fcntl(of.write, F_GETFL) & O_NONBLOCK;
	});
}

TEST_P(NoteWriteTest, LongerThanTheRoomOfOneThatNoOneReadsEnds)
{
	EXPECT_IN_CHILD([] {
		const ends of = GetParam()();
		const std::string text(std::size_t{1} << 20, 'y');

		note_write(of.write, text.data(), text.size());
		return 0;
	});
}

/* Reads all there is. */
std::string drain(int fd)
{
	std::array<char, 65536> bytes = {};
	std::string text;
	ssize_t got;

	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	while ((got = read(fd, bytes.data(), bytes.size())) > 0)
		text.append(bytes.data(), static_cast<std::size_t>(got));
	return text;
}

/* A server that reports more than once is not held up each time. */
TEST_P(NoteWriteTest, AfterATextThatWasDroppedItDoesNotWaitAgain)
{
	EXPECT_IN_CHILD([] {
		const ends of = GetParam()();

		fill(of.write);
		note_write(of.write, "text\n", 5);
		const auto start = std::chrono::steady_clock::now();

		for (int i = 0; i < 20; i++)
			note_write(of.write, "text\n", 5);
		return std::chrono::steady_clock::now() - start > std::chrono::seconds(10);
	});
}

TEST_P(NoteWriteTest, WritesHowManyTextsWereDropped)
{
	EXPECT_IN_CHILD([] {
		const ends of = GetParam()();

		fill(of.write);
		for (int i = 0; i < 3; i++)
			note_write(of.write, "text\n", 5);
		drain(of.read);
		for (int i = 0; i < 2; i++)
			note_write(of.write, "end\n", 4);
		return drain(of.read) !=
		       "libslab: 3 messages could not be written, and were dropped\n"
		       "end\nend\n";
	});
}

/* The reader begins while the writer waits, or before it does. */
TEST_P(NoteWriteTest, GoesOnWhenASlowReaderReads)
{
	const ends of = GetParam()();
	std::string text;

	fill(of.write);
	std::thread reader([&] {
		std::array<char, 65536> bytes = {};
		ssize_t got;

		while ((got = read(of.read, bytes.data(), bytes.size())) > 0)
			text.append(bytes.data(), static_cast<std::size_t>(got));
	});
	note_write(of.write, "end", 3);
	close(of.write);
	reader.join();
	EXPECT_EQ(text.substr(text.size() - 4), "xend");
	close(of.read);
}

TEST(NoteTest, AFileAtTheLimitOfItsSizeDoesNotEndTheProgram)
{
	EXPECT_IN_CHILD([] {
		char path[] = "/tmp/slab-note-test-XXXXXX";
		const int fd = mkstemp(path);
		struct rlimit before;

		unlink(path);
		getrlimit(RLIMIT_FSIZE, &before);
		const struct rlimit none = {0, before.rlim_max};

		setrlimit(RLIMIT_FSIZE, &none);
		note_write(fd, "text\n", 5);
		setrlimit(RLIMIT_FSIZE, &before); /* the child may write its counts */
		return is_pending(SIGXFSZ);
	});
}

} /* namespace */
