/* SPDX-License-Identifier: MIT */
/*
 * Live processes that are read without their help: slabinfo from the outside,
 * and the reader itself where a process has to vanish at the right moment. Reads of
 * memory: memory_source_test.cc.
 */
#include "../support/server.h"

extern "C" {
#include "attach.h"
#include "memory_source.h"
}

namespace
{

const char silent_server[] = PROGRAMS "silent_server";

/* A server that stands still until this is gone. */
class stopped
{
public:
	explicit stopped(pid_t pid) : pid_(pid)
	{
		int status;

		kill(pid, SIGSTOP);
		EXPECT_EQ(waitpid(pid, &status, WUNTRACED), pid);
		EXPECT_TRUE(WIFSTOPPED(status));
	}

	~stopped() { kill(pid_, SIGCONT); }

	stopped(const stopped &) = delete;
	stopped &operator=(const stopped &) = delete;

private:
	pid_t pid_;
};

/* A variable of the environment, for the processes started meanwhile. */
class variable
{
public:
	variable(const char *name, const std::string &value) : name_(name)
	{
		setenv(name, value.c_str(), 1);
	}

	~variable() { unsetenv(name_); }

	variable(const variable &) = delete;
	variable &operator=(const variable &) = delete;

private:
	const char *name_;
};

class ProcessMemoryTest : public testing::Test
{
protected:
	~ProcessMemoryTest() override { fail_capture(nullptr, 0); }

	static std::string name(const child_process &process,
				const std::string &command = "silent_server")
	{
		return "process " + std::to_string(process.pid()) + " (" + command + ")";
	}

	static std::string pid(const child_process &process)
	{
		return std::to_string(process.pid());
	}

	static struct process choose(const child_process &process, bool memory)
	{
		struct choice choice = {};
		struct process chosen;

		choice.pid = process.pid();
		choice.memory = memory;
		EXPECT_EQ(attach_choose(&choice, &chosen), -1);
		return chosen;
	}

	/* The process ends after it was chosen. */
	void expect_end_is_reported(child_process &process, struct process &chosen)
	{
		const std::string ended = name(process, "control_server") + " has ended";

		EXPECT_EQ(process.wait(), 0);
		fail_capture(message, sizeof(message));
		EXPECT_EQ(attach_query(&chosen, "stats", nullptr), nullptr);
		EXPECT_EQ(message, ended);
		attach_close(&chosen);
	}

	runtime_dir dir;
	char message[512] = "";
};

std::string objects_of(const result &got)
{
	const std::vector<std::string> row = row_of(got.out, "entry");

	EXPECT_EQ(got.status, 0) << got.err;
	return row.size() > 1 ? row[1] : "";
}

TEST_F(ProcessMemoryTest, CallSitesHaveSymbols)
{
	server process;

	EXPECT_EQ(slabinfo({"-du", "entry"}).status, 0);
	process.do_task('l');
	EXPECT_TRUE(contains(output_of({"-t", "--json", "entry"}), "leak_entries"));
}

TEST_F(ProcessMemoryTest, AStoppedProcessIsRead)
{
	server process;
	const result before = slabinfo();
	const stopped still(process.pid());
	const result got = slabinfo();

	EXPECT_EQ(got.status, 0);
	EXPECT_EQ(caches_part(got.out), caches_part(before.out));
	EXPECT_EQ(got.err, "");
}

TEST_F(ProcessMemoryTest, AStoppedProcessCannotBeChanged)
{
	server process;
	const stopped still(process.pid());
	const result got = slabinfo({"-s", "entry"});

	EXPECT_EQ(got.status, 2);
	EXPECT_EQ(got.out, "");
	EXPECT_EQ(got.err, "slabinfo: " + name(process, "control_server") +
				   " is stopped or does not answer; it cannot be changed now\n");
}

TEST_F(ProcessMemoryTest, AProcessThatDoesNotAnswerIsRead)
{
	server process("deaf", silent_server);
	const result got = slabinfo();

	EXPECT_EQ(objects_of(got), "300");
	EXPECT_EQ(got.err, "");
}

TEST_F(ProcessMemoryTest, AProcessThatDoesNotAnswerCannotBeChanged)
{
	server process("deaf", silent_server);

	expect_error({"-d"},
		     name(process) + " is stopped or does not answer; it cannot be changed now");
}

TEST_F(ProcessMemoryTest, AProcessThatHoldsEveryLockIsRead)
{
	server process("locked", silent_server);

	EXPECT_EQ(objects_of(slabinfo()), "300");
	EXPECT_EQ(objects_of(slabinfo({"--memory"})), "300");
}

TEST_F(ProcessMemoryTest, AProcessWithManyPendingClientsIsRead)
{
	server process("deaf", silent_server);
	struct sockaddr_un address = {};
	std::vector<int> clients;
	int connected = 0;

	address.sun_family = AF_UNIX;
	dir.socket(process.pid()).copy(address.sun_path, sizeof(address.sun_path) - 1);
	while (connected == 0) {
		clients.push_back(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
		connected = connect(clients.back(), reinterpret_cast<struct sockaddr *>(&address),
				    sizeof(address));
	}
	EXPECT_EQ(errno, EAGAIN); /* one more would wait */
	EXPECT_TRUE(contains(slabinfo({"--list"}).out, pid(process)));
	EXPECT_EQ(objects_of(slabinfo()), "300");
	for (int fd : clients)
		close(fd);
}

TEST_F(ProcessMemoryTest, AProcessWithoutSocketIsReadByPidAndByName)
{
	const variable off("SLAB_CONTROL", "off");
	server process("plain", silent_server);

	EXPECT_EQ(objects_of(slabinfo({"-p", pid(process)})), "300");
	EXPECT_EQ(slabinfo({"-p", pid(process)}).err, "");
	EXPECT_EQ(objects_of(slabinfo({"--process", "silent_server"})), "300");
}

TEST_F(ProcessMemoryTest, AProcessWithoutSocketCannotBeChanged)
{
	const variable off("SLAB_CONTROL", "off");
	server process("plain", silent_server);
	const result got = slabinfo({"-p", pid(process), "-s"});

	EXPECT_NE(got.status, 0);
	EXPECT_EQ(got.err, "slabinfo: " + name(process) +
				   " has no control socket (SLAB_CONTROL=off?); slabinfo "
				   "can read it, but not change it\n");
}

TEST_F(ProcessMemoryTest, TheListShowsHowEachProcessIsReached)
{
	server asked;
	const variable off("SLAB_CONTROL", "off");
	server read("plain", silent_server);
	const result got = slabinfo({"--list"});
	const std::vector<std::string> lines = lines_of(got.out);

	EXPECT_EQ(got.status, 0);
	ASSERT_EQ(lines.size(), 3U) << got.out;
	EXPECT_EQ(lines[0], "       PID  COMMAND          HOW");
	EXPECT_EQ(words_of(lines[1]),
		  (std::vector<std::string>{pid(asked), "control_server", "socket"}));
	EXPECT_EQ(words_of(lines[2]),
		  (std::vector<std::string>{pid(read), "silent_server", "memory"}));
}

TEST_F(ProcessMemoryTest, ProcessesOfOtherRuntimeDirectoriesAreNotListed)
{
	const variable off("SLAB_CONTROL", "off");
	server process("plain", silent_server);
	const runtime_dir other;

	EXPECT_EQ(slabinfo({"--list"}).err, "slabinfo: no process has slab caches\n");
	/* Its number is enough. */
	EXPECT_EQ(objects_of(slabinfo({"-p", pid(process)})), "300");
}

TEST_F(ProcessMemoryTest, ABusyProcessIsReadAgainAndAgain)
{
	server process("load");

	for (int i = 0; i < 20; i++) {
		const result got = slabinfo({"--memory", "--json", "entry"});
		const json document(json_tokener_parse(got.out.c_str()));

		ASSERT_EQ(got.status, 0) << got.err;
		struct json_object *entry = find_cache(document.get(), "entry");

		EXPECT_GT(number(entry, "objects"), 0U);
		EXPECT_LE(number(entry, "objects"), number(entry, "total_objects"));
	}
}

TEST_F(ProcessMemoryTest, AnArchiveInTheProgramIsFound)
{
	server process("plain", PROGRAMS "silent_server_archive");

	EXPECT_EQ(objects_of(slabinfo({"--memory"})), "300");
}

TEST_F(ProcessMemoryTest, AStaticProgramIsRead)
{
	const std::string program = PROGRAMS "silent_server_static";

	if (!exists(program))
		GTEST_SKIP() << "no static programs with sanitizers";
	server process("plain", program);

	EXPECT_EQ(objects_of(slabinfo({"--memory"})), "300");
}

TEST_F(ProcessMemoryTest, OfTwoLibslabsTheOneInUseIsRead)
{
	const variable library("LIBSLAB", LIBSLAB);
	server process("copies", PROGRAMS "silent_server_archive");

	EXPECT_EQ(objects_of(slabinfo({"-p", pid(process), "--memory"})), "300");
}

TEST_F(ProcessMemoryTest, EachOfTwoCopiesIsShown)
{
	const variable library("LIBSLAB", LIBSLAB);
	server process("both", PROGRAMS "silent_server_archive");
	const std::string number = pid(process);

	EXPECT_EQ(row_of(output_of({"-p", number, "--copy", "1"}), "mine").at(1), "300");
	EXPECT_EQ(row_of(output_of({"-p", number, "--copy", "2"}), "entry").at(1), "300");
	EXPECT_EQ(slabinfo({"-p", number}).err,
		  "slabinfo: " + name(process, "silent_server_a") +
			  " has 2 copies of libslab; --copy chooses one, and --list shows them\n");
	expect_error({"-p", number, "--copy", "3"},
		     name(process, "silent_server_a") + " has no copy 3 of libslab with caches");
	expect_error({"-p", number, "--copy", "2", "-s", "entry"},
		     "the control socket of " + name(process, "silent_server_a") +
			     " serves another copy of libslab than number 2",
		     1);
	EXPECT_EQ(row_of(output_of({"--list"}), number).size(), 5U);
	process.end_input();
	EXPECT_TRUE(contains(process.errors(),
			     "Another copy of libslab in this process has that memory"));
}

TEST_F(ProcessMemoryTest, AnotherUsersProcessIsRefused)
{
	server process("plain", silent_server);
	std::vector<std::string> words = {SLABINFO, "--pid", pid(process)};
	std::string user = "0", victim = name(process);

	if (geteuid() == 0) {
		words.insert(words.begin(),
			     {"/usr/bin/setpriv", "--reuid", "65534", "--clear-groups"});
	} else {
		words[2] = "1";
		std::getline(std::ifstream("/proc/1/comm"), victim);
		victim = "process 1 (" + victim + ")";
	}
	child_process tool(words);

	EXPECT_EQ(tool.rest_of_output(), "");
	EXPECT_EQ(tool.errors(), "slabinfo: " + victim + " belongs to user " + user +
					 ": only that user and root may look at it\n");
	EXPECT_EQ(tool.wait(), 2);
}

TEST_F(ProcessMemoryTest, AProcessOfAnotherLayoutIsRefused)
{
	server process("", PROGRAMS "other_layout");
	const result got = slabinfo({"-p", pid(process)});

	EXPECT_EQ(got.status, 2);
	EXPECT_EQ(got.out, "");
	EXPECT_TRUE(contains(got.err, "slabinfo: " + name(process, "other_layout") +
					      " has libslab 9.9.9 of another build than this "))
		<< got.err;
	EXPECT_EQ(lines_of(got.err).size(), 1U);
}

TEST_F(ProcessMemoryTest, ANoteThatLeadsNowhereIsRefused)
{
	server process("", PROGRAMS "other_dangling");

	expect_error({"-p", pid(process)},
		     "the memory of " + name(process, "other_dangling") + " could not be read");
}

TEST_F(ProcessMemoryTest, AProcessWithoutCachesIsRefused)
{
	server process("empty", silent_server);

	expect_error({"-p", pid(process)},
		     name(process) + " has no slab caches: it has libslab, but no cache");
}

TEST_F(ProcessMemoryTest, AProcessWithoutLibslabIsRefused)
{
	child_process process({"/bin/cat"});

	process.write_line("started");
	EXPECT_EQ(process.line(), "started");
	expect_error({"-p", pid(process)},
		     name(process, "cat") + " has no slab caches: it does not use libslab");
	EXPECT_EQ(slabinfo({"--list"}).status, 2);
}

/* A look at it would take hours, if all of them were read. */
TEST_F(ProcessMemoryTest, NotesWithoutEndAreNotRead)
{
	server process;
	server hostile("notes", PROGRAMS "hostile_server");

	expect_error({"-p", pid(hostile)}, name(hostile, "hostile_server") +
						   " has no slab caches: it does not use libslab");
	EXPECT_EQ(lines_of(slabinfo({"--list"}).out).size(), 2U);
}

TEST_F(ProcessMemoryTest, ADeadProcessIsRefused)
{
	const pid_t dead = fork();

	if (dead == 0)
		_exit(0);
	siginfo_t info;
	ASSERT_EQ(waitid(P_PID, static_cast<id_t>(dead), &info, WEXITED | WNOWAIT), 0);
	const result zombie = slabinfo({"-p", std::to_string(dead)});

	waitpid(dead, nullptr, 0);
	EXPECT_EQ(zombie.status, 2);
	EXPECT_EQ(zombie.err, "slabinfo: process " + std::to_string(dead) + " has ended\n");
	EXPECT_EQ(slabinfo({"-p", "2147483647"}).err, "slabinfo: there is no process 2147483647\n");
}

TEST_F(ProcessMemoryTest, AProcessThatVanishesMidwayFailsTheRequest)
{
	server process;
	struct process chosen = choose(process, true);
	const json before(attach_query(&chosen, "stats", nullptr));

	EXPECT_TRUE(before);
	expect_end_is_reported(process, chosen);
}

TEST_F(ProcessMemoryTest, AProcessThatVanishesMidwayFailsTheQuestion)
{
	server process;
	struct process chosen = choose(process, false);

	EXPECT_EQ(chosen.way, WAY_SOCKET);
	expect_end_is_reported(process, chosen);
}

TEST_F(ProcessMemoryTest, AProcessThatStopsMidwayIsReadOn)
{
	server process;
	struct process chosen = choose(process, false);
	const stopped still(process.pid());

	fail_capture(message, sizeof(message));
	const json read(attach_query(&chosen, "stats", nullptr));

	EXPECT_TRUE(read);
	EXPECT_STREQ(message, "");
	attach_close(&chosen);
}

} /* namespace */
