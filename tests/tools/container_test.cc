/* SPDX-License-Identifier: MIT */
/* slabinfo and processes in containers: what it shows, what it changes, and whom it does not believe. */
#include "../support/contained.h"

namespace
{

class ContainerTest : public testing::Test
{
protected:
	void SetUp() override
	{
		const std::string why = no_container(unshare_as_root);

		if (!why.empty())
			GTEST_SKIP() << why;
	}

	runtime_dir dir;
};

TEST_F(ContainerTest, OneIsListedAndChosen)
{
	const contained process(dir.path());

	EXPECT_FALSE(exists(dir.socket(1)));
	EXPECT_EQ(row_of(output_of({"--list"}), process.number()),
		  (std::vector<std::string>{process.number(), "program", "socket"}));
	EXPECT_EQ(row_of(output_of({}), "entry").at(1), "500");
}

TEST_F(ContainerTest, ActionsWorkAndFunctionsHaveNames)
{
	contained process(dir.path());

	EXPECT_TRUE(contains(output_of({"-p", process.number(), "-du", "entry"}), "-> U"));
	process.do_task('l');
	EXPECT_TRUE(
		contains(output_of({"-p", process.number(), "-t", "entry"}), "leak_entries+0x"));
}

/* Root of this machine is nobody in there. */
TEST_F(ContainerTest, ActionsWorkInAUserNamespace)
{
	const std::vector<std::string> unshare = {"/usr/bin/setpriv", "--reuid", "65534",
						  "--regid",          "65534",   "--clear-groups",
						  "/usr/bin/unshare", "--user",  "--map-root-user",
						  "--mount",          "--pid",   "--fork"};
	const std::string why = no_container(unshare);

	if (!why.empty())
		GTEST_SKIP() << why;
	const contained process("/mnt", unshare);

	EXPECT_TRUE(contains(output_of({"-p", process.number(), "-du", "entry"}), "-> U"));
}

/* It puts the socket of a process outside in place of its own. */
TEST_F(ContainerTest, NobodyElseIsChangedInItsName)
{
	const server outside;
	const contained process(dir.path(), unshare_as_root, "mount --bind \"$0\" /mnt");
	const std::string socket = "/proc/" + process.number() + "/root" + dir.socket(1);
	const std::string target = "/mnt/slab/" + std::to_string(outside.pid()) + ".sock";

	ASSERT_EQ(unlink(socket.c_str()), 0);
	ASSERT_EQ(symlink(target.c_str(), socket.c_str()), 0);
	EXPECT_EQ(slabinfo({"-p", process.number(), "-du", "entry"}).err,
		  "slabinfo: process " + process.number() + " (program) does not listen on \"" +
			  socket + "\": another process does\n");
}

/* The root that counts is the container's. */
TEST_F(ContainerTest, LinksDoNotLeadOut)
{
	const server outside;
	const contained process(dir.path());
	const std::string socket = "/proc/" + process.number() + "/root" + dir.socket(1);

	ASSERT_EQ(unlink(socket.c_str()), 0);
	ASSERT_EQ(symlink(dir.socket(outside.pid()).c_str(), socket.c_str()), 0);
	EXPECT_EQ(slabinfo({"-p", process.number(), "-du", "entry"}).err,
		  "slabinfo: process " + process.number() +
			  " (program) does not answer: No such file or directory\n");
}

TEST_F(ContainerTest, OthersAreListedForRoot)
{
	const server process({"/usr/bin/setpriv", "--reuid", "65534", "--clear-groups",
			      CONTROL_SERVER, "plain"});

	EXPECT_EQ(row_of(output_of({"--list"}), std::to_string(process.pid())).at(1),
		  "control_server");
}

} /* namespace */
