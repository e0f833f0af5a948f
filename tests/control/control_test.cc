/* SPDX-License-Identifier: MIT */
/*
 * The control socket: the protocol, and everything a client may do wrong. The
 * server under test is a process of its own, which must survive all of it.
 */
#include "../support/looks.h"
#include "../support/server.h"

namespace
{

class ControlTest : public testing::Test
{
protected:
	std::string ping(pid_t pid) { return ask(dir.socket(pid), "slab/2 ping\n"); }

	bool alive(pid_t pid)
	{
		return contains(ping(pid), "\"ok\":true,\"pid\":" + std::to_string(pid));
	}

	runtime_dir dir;
};

TEST_F(ControlTest, PingShowsTheProcess)
{
	server process;
	const std::string answer = ping(process.pid());

	EXPECT_EQ(answer.back(), '\n');
	EXPECT_TRUE(contains(answer, "\"slab\":2,\"ok\":true"));
	EXPECT_TRUE(contains(answer, "\"command\":\"control_server\""));
}

TEST_F(ControlTest, StatsCarryTheProcess)
{
	server process;
	json document(json_tokener_parse(look_text(process.pid(), "stats").c_str()));
	struct json_object *about = member(document.get(), "process");

	EXPECT_EQ(number(about, "pid"), static_cast<std::uint64_t>(process.pid()));
	EXPECT_GE(number(about, "cpus"), 1U);
	EXPECT_GE(number(about, "nodes"), 1U);
	EXPECT_GE(number(about, "segments"), 1U);
	EXPECT_GT(number(about, "slab_bytes"), 0U);
	for (const char *key : {"segment_size", "cached_bytes", "large_bytes", "metadata_bytes",
				"uptime", "version", "engine", "command"})
		member(about, key);
}

TEST_F(ControlTest, StatsCarryEveryCache)
{
	server process;
	json document(json_tokener_parse(look_text(process.pid(), "stats").c_str()));
	struct json_object *entry = find_cache(document.get(), "entry");

	EXPECT_EQ(number(entry, "object_size"), 712U);
	EXPECT_EQ(number(entry, "objects"), 500U);
	EXPECT_EQ(number(entry, "flags"), static_cast<std::uint64_t>(SLAB_PANIC));
	EXPECT_STREQ(json_object_get_string(member(entry, "flag_names")), "[ \"SLAB_PANIC\" ]");
	for (const char *key : {"slab_size", "align", "objects_per_slab", "order", "has_ctor",
				"min_partial", "slabs", "partial", "full", "empty", "total_objects",
				"objects_partial", "cpu_objects", "populated"})
		member(entry, key);
	EXPECT_EQ(json_object_object_length(member(entry, "events")), SLAB_EVENT_COUNT);
	EXPECT_GE(json_object_array_length(member(entry, "nodes")), 1U);
	EXPECT_EQ(number(find_cache(document.get(), "empty"), "slabs"), 0U);
}

TEST_F(ControlTest, ShrinkAndValidateTakeAName)
{
	server process;
	const std::string path = dir.socket(process.pid());

	EXPECT_TRUE(contains(ask(path, "slab/2 shrink entry\n"),
			     "\"ok\":true,\"name\":\"entry\",\"slabs\":"));
	EXPECT_TRUE(contains(ask(path, "slab/2 validate entry\n"), "\"problems\":0"));
}

TEST_F(ControlTest, WrongRequestsGetOneErrorMessage)
{
	server process;
	const std::string path = dir.socket(process.pid());

	EXPECT_TRUE(contains(ask(path, "slab/2 shrink nobody\n"),
			     "\"ok\":false,\"error\":\"no cache is called \\\"nobody\\\"\""));
	EXPECT_TRUE(contains(ask(path, "slab/2 validate\n"), "validate needs the name of a cache"));
	EXPECT_TRUE(contains(ask(path, "slab/2 dance\n"), "request \\\"dance\\\" is not known"));
	EXPECT_TRUE(contains(ask(path, "slab/2 pingpong\n"), "is not known"));
	EXPECT_TRUE(contains(ask(path, "slab/3 ping\n"), "a request is one line"));
	EXPECT_TRUE(contains(ask(path, "\n"), "a request is one line"));
	EXPECT_TRUE(contains(ask(path, std::string(5000, 'x')), "less than 4096 bytes"));
	EXPECT_TRUE(alive(process.pid()));
}

TEST_F(ControlTest, ARequestMayComeInPiecesOrWithoutNewline)
{
	server process;
	client pieces(dir.socket(process.pid()));
	client ended(dir.socket(process.pid()));

	for (char byte : std::string("slab/2 ping\r\n")) {
		pieces.send(std::string(1, byte));
		usleep(1000);
	}
	EXPECT_TRUE(contains(pieces.answer(), "\"ok\":true"));
	ended.send("slab/2 ping");
	ended.end_requests();
	EXPECT_TRUE(contains(ended.answer(), "\"ok\":true"));
}

TEST_F(ControlTest, HalfOpenClientsKeepNoClientOut)
{
	server process;
	std::vector<std::unique_ptr<client>> idle;

	for (int i = 0; i < 200; i++) {
		idle.push_back(std::make_unique<client>(dir.socket(process.pid())));
		EXPECT_TRUE(idle.back()->connected());
		if (i % 2)
			idle.back()->send("slab/2 st");
	}
	EXPECT_TRUE(alive(process.pid()));
}

TEST_F(ControlTest, ClientsThatDoNotReadKeepNoClientOut)
{
	server process;
	std::vector<std::unique_ptr<client>> deaf;

	for (int i = 0; i < 100; i++) {
		deaf.push_back(std::make_unique<client>(dir.socket(process.pid())));
		deaf.back()->send("slab/2 stats\n");
	}
	EXPECT_TRUE(alive(process.pid()));
}

/* In a process whose control thread has nothing else to wake up for. */
TEST_F(ControlTest, IdleClientsAreDropped)
{
	setenv("SLAB_DECAY_MS", "never", 1);

	server process;

	unsetenv("SLAB_DECAY_MS");
	client idle(dir.socket(process.pid()));

	idle.send("slab/2 pi");
	EXPECT_EQ(idle.answer(), "");
	EXPECT_TRUE(alive(process.pid()));
}

TEST_F(ControlTest, GarbageIsAnsweredOrDropped)
{
	server process;
	std::mt19937 random(7);

	for (int i = 0; i < 3000; i++) {
		client garbage(dir.socket(process.pid()));
		std::string text = i % 3 ? "" : "slab/2 ";

		for (std::size_t n = random() % (i % 50 ? 60 : 5000); n > 0; n--)
			text += static_cast<char>(random());
		garbage.send(text);
		garbage.end_requests();
		if (i % 4)
			garbage.answer();
	}
	EXPECT_TRUE(alive(process.pid()));
	EXPECT_EQ(process.wait(), 0);
}

TEST_F(ControlTest, AnotherUserIsRefused)
{
	if (geteuid() != 0)
		GTEST_SKIP() << "needs root";
	server process;
	const std::string path = dir.socket(process.pid());

	/* Open the way to the socket, so that only the peer's identity decides. */
	chmod(dir.path().c_str(), 0755);
	chmod((dir.path() + "/slab").c_str(), 0755);
	chmod(path.c_str(), 0777);
	EXPECT_EQ(run_in_child([&] {
			  if (setgid(65534) != 0 || setuid(65534) != 0)
				  return 1;
			  client stranger(path);

			  stranger.send("slab/2 ping\n");
			  return stranger.connected() && stranger.answer().empty() ? 0 : 2;
		  }),
		  "");
	EXPECT_TRUE(alive(process.pid()));
}

TEST_F(ControlTest, DirectoryAndSocketAreTheUsersOwn)
{
	server process;
	struct stat st;

	ASSERT_EQ(stat((dir.path() + "/slab").c_str(), &st), 0);
	EXPECT_EQ(st.st_mode & 07777, 0700U);
	EXPECT_EQ(st.st_uid, geteuid());
	ASSERT_EQ(process.wait(), 0);
	EXPECT_FALSE(exists(dir.socket(process.pid())));
}

TEST_F(ControlTest, TheSocketGoesWithTheProcess)
{
	server process;
	const std::string path = dir.socket(process.pid());

	EXPECT_TRUE(exists(path));
	EXPECT_EQ(process.wait(), 0);
	EXPECT_FALSE(exists(path));
}

TEST_F(ControlTest, ADirectoryThatIsNotSafeIsNotUsed)
{
	const std::string path = dir.path() + "/slab";

	ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
	ASSERT_EQ(chmod(path.c_str(), 0777), 0);
	{
		server process;

		EXPECT_EQ(process.control_fd(), -EPERM);
		EXPECT_FALSE(exists(dir.socket(process.pid())));
		process.end_input();
		EXPECT_EQ(process.errors(), "libslab: no control socket: " + path +
						    ": another user owns it, or may write to it\n");
		EXPECT_EQ(process.wait(), 0);
	}
	ASSERT_EQ(rmdir(path.c_str()), 0);
	ASSERT_EQ(symlink("/tmp", path.c_str()), 0);
	server process;

	EXPECT_LT(process.control_fd(), 0);
	EXPECT_FALSE(exists("/tmp/" + std::to_string(process.pid()) + ".sock"));
}

TEST_F(ControlTest, SocketsOfTheDeadAreRemoved)
{
	std::string stale;
	{
		server killed;

		stale = dir.socket(killed.pid());
		kill(killed.pid(), SIGKILL);
		EXPECT_EQ(killed.wait(), -1);
	}
	EXPECT_TRUE(exists(stale));
	server first;
	server second;

	EXPECT_FALSE(exists(stale));
	EXPECT_TRUE(alive(first.pid()));
	EXPECT_TRUE(alive(second.pid()));
}

TEST_F(ControlTest, AChildHasASocketOfItsOwnOnceItNeedsOne)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer allows no new thread in a fork's child";
	server process("fork");
	int child = 0, before = -1, after = -1;

	ASSERT_EQ(std::sscanf(process.child_line().c_str(), "child %d before %d after %d", &child,
			      &before, &after),
		  3);
	EXPECT_EQ(before, 0);
	EXPECT_EQ(after, 1);
	EXPECT_TRUE(alive(process.pid()));
	EXPECT_TRUE(alive(child));
	EXPECT_TRUE(contains(look_text(child, "stats"), "of_the_child"));
	EXPECT_FALSE(contains(look_text(process.pid(), "stats"), "of_the_child"));
	EXPECT_EQ(process.wait(), 0);
	EXPECT_FALSE(exists(dir.socket(child)));
}

TEST_F(ControlTest, TheThreadBlocksAllSignals)
{
	server process;

	/* A thread that has answered has run: it has its name and its mask. */
	ASSERT_TRUE(contains(ask(dir.socket(process.pid()), "slab/2 ping\n"), "true"));

	const std::string task = find_thread(process.pid(), "slab-control");

	ASSERT_NE(task, "");
	const std::uint64_t blocked = std::stoull(status_line(task, "SigBlk"), nullptr, 16);

	for (int signal : {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD, SIGPROF})
		EXPECT_TRUE(blocked >> (signal - 1) & 1) << signal;
	EXPECT_EQ(process.control_fd(), -EBUSY);
}

TEST_F(ControlTest, ALoopNeedsNoThread)
{
	server process("loop");

	EXPECT_GE(process.control_fd(), 0);
	EXPECT_EQ(find_thread(process.pid(), "slab-control"), "");
	EXPECT_TRUE(alive(process.pid()));
	EXPECT_TRUE(contains(look_text(process.pid(), "stats"), "\"entry\""));
	EXPECT_EQ(process.wait(), 0);
}

TEST_F(ControlTest, OffMeansOff)
{
	setenv("SLAB_CONTROL", "off", 1);
	server process;

	unsetenv("SLAB_CONTROL");
	EXPECT_EQ(process.control_fd(), -EPERM);
	EXPECT_FALSE(exists(dir.socket(process.pid())));
	EXPECT_EQ(find_thread(process.pid(), "slab-control"), "");
}

/* The control thread must not be the one that keeps a process alive. */
TEST_F(ControlTest, TheLastThreadOfTheApplicationEndsTheProcess)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer has a thread of its own";
	server process("leave");
	const std::string path = dir.socket(process.pid());
	const time_t start = time(nullptr);

	EXPECT_EQ(process.wait(), 0);
	EXPECT_LE(time(nullptr) - start, 10);
	EXPECT_FALSE(exists(path));
}

} /* namespace */
