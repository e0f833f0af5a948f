/* SPDX-License-Identifier: MIT */
/*
 * Programs that do not know libslab, under libslab_malloc.so: that they find nothing in their
 * process that they would not have without it, and what they get from it. The tests themselves run
 * without it.
 */
#include "../support/answers.h"
#include "../support/child_process.h"

namespace
{

using words = std::vector<std::string>;

constexpr int no_test = 77; /* a program's exit status */

/* Variables of the environment, for the processes that are started meanwhile. */
class environment
{
public:
	explicit environment(const words &settings)
	{
		for (const std::string &setting : settings) {
			const std::size_t end = setting.find('=');

			names_.push_back(setting.substr(0, end));
			setenv(names_.back().c_str(), setting.c_str() + end + 1, 1);
		}
	}

	~environment()
	{
		for (const std::string &name : names_)
			unsetenv(name.c_str());
	}

	environment(const environment &) = delete;
	environment &operator=(const environment &) = delete;

private:
	words names_;
};

const std::string preload = "LD_PRELOAD=" LIBRARY;

result run_preloaded(const words &command, words settings = {})
{
	settings.push_back(preload);

	const environment set(settings);

	return run_tool(command);
}

result shell(const std::string &script, const words &settings = {})
{
	return run_preloaded({"/bin/sh", "-c", script}, settings);
}

result program(const std::string &task, const words &settings = {})
{
	return run_preloaded({PROGRAM, task}, settings);
}

/* --- nothing that the program would not have ---------------------------------------------- */

/* How many threads and descriptors the program has by itself. */
std::string alone()
{
	static const std::string line = run_tool({PROGRAM, "grow"}).out;

	return line;
}

TEST(PreloadedProcess, HasNoThreadAndNoDescriptorOfLibslab)
{
	const result got = program("grow");

	EXPECT_EQ(got.status, 0) << got.err;
	EXPECT_EQ(got.out, alone());
	EXPECT_EQ(got.err, "");
}

TEST(PreloadedProcess, HasThemOnRequest)
{
	for (const char *value : {"SLAB_CONTROL=on", "SLAB_CONTROL=auto"}) {
		const result got = program("grow", {value});

		EXPECT_EQ(got.status, 0) << got.err;
		EXPECT_EQ(got.out.rfind("threads 2 ", 0), 0U) << value << ": " << got.out;
	}
}

TEST(PreloadedProcess, HasThemNeitherWithOffNorBeforeTheSignal)
{
	for (const char *value : {"SLAB_CONTROL=off", "SLAB_CONTROL=signal:12"})
		EXPECT_EQ(program("grow", {value}).out, alone()) << value;
}

TEST(PreloadedProcess, DoesNotLoadTheCxxLibrary)
{
	EXPECT_EQ(shell("! grep -E 'libstdc|libc[+][+]' /proc/self/maps").status, 0);
}

/* A shell opens a descriptor by its number, over whatever is there. */
TEST(PreloadedProcess, MayUseEachDescriptorByItsNumber)
{
	const result got =
		shell("f=$(mktemp); for n in 3 4 5 6 7 8 9; do "
		      "eval \"exec $n>$f; echo $n >&$n; exec $n>&-\"; cat $f; done; rm $f");

	EXPECT_EQ(got.out, "3\n4\n5\n6\n7\n8\n9\n");
	EXPECT_EQ(got.err, "");
}

TEST(PreloadedProcess, MayEnterANewUserNamespace)
{
	const int status = program("new_user").status;

	if (status == no_test)
		GTEST_SKIP() << "this system does not let the user do so";
	EXPECT_EQ(status, 0);
}

void expect_sandboxed(const std::string &task)
{
	const result got = program(task, {"SLAB_DECAY_MS=200"});

	if (got.status == no_test)
		GTEST_SKIP() << "no filters of system calls here";
	EXPECT_EQ(got.status, 0) << got.err;
}

TEST(PreloadedProcess, WorksInASandboxWithoutFilesAndThreads)
{
	expect_sandboxed("sandbox");
}

TEST(PreloadedProcess, WorksThereWhereItMayNotAskForItsNodes)
{
	expect_sandboxed("hidden_nodes");
}

/* --- memory ------------------------------------------------------------------------------- */

TEST(PreloadedProcess, ReturnsMemoryWithoutAThread)
{
	const result got = program("decay", {"SLAB_DECAY_MS=400"});

	EXPECT_EQ(got.status, 0) << got.out << got.err;
	EXPECT_EQ(got.out.rfind(alone(), 0), 0U) << got.out;
}

TEST(PreloadedProcess, ReturnsMemoryIfTheSocketCannotBeOpened)
{
	const result got = program(
		"decay", {"SLAB_DECAY_MS=400", "SLAB_CONTROL=auto", "SLAB_RUNTIME_DIR=/proc/none"});

	EXPECT_EQ(got.status, 0) << got.out << got.err;
	EXPECT_NE(got.err.find("no control socket"), std::string::npos) << got.err;
}

TEST(PreloadedProcess, KeepsItForTheDecayTime)
{
	const result got = program("decay", {"SLAB_DECAY_MS=30000"});

	EXPECT_EQ(got.status, 1) << got.out << got.err;
}

TEST(PreloadedProcess, FailsCleanlyAtTheLimitOfItsAddressSpace)
{
	const result got = program("limit");

	EXPECT_EQ(got.status, 0) << got.err;
}

/* A command with the library in KIB of address space. */
result in_address_space(unsigned kib, const std::string &command)
{
	return run_tool({"/bin/bash", "-c",
			 "ulimit -v " + std::to_string(kib) + "; " + preload + " " + command});
}

/* Slots of CPUs that do not exist would take 32 MiB and more. */
TEST(PreloadedProcess, NeedsLittleAddressSpaceWhereThereIsLittle)
{
	for (const char *command : {"bash -c :", PROGRAM " wait </dev/null"}) {
		const result got = in_address_space(40000, command);

		EXPECT_EQ(got.status, 0) << command << ": " << got.err;
	}
}

/* Programs at each limit from too little for themselves on: they work, or say that there is no
 * memory, as does the dynamic linker. */
TEST(PreloadedProcess, NeverCrashesForLackOfAddressSpace)
{
	for (const char *command : {"bash -c :", "perl -e 1", PROGRAM " wait </dev/null"})
		for (unsigned kib = 4000; kib <= 48000; kib += kib < 28000 ? 2000 : 10000) {
			const result got = in_address_space(kib, command);

			EXPECT_LT(got.status, 128) << command << ", " << kib << " KiB: " << got.err;
		}
}

TEST(PreloadedProcess, EnduresFailingAllocations)
{
	for (const char *spec : {"SLAB_FAIL=interval=2", "SLAB_FAIL=interval=7",
				 "SLAB_FAIL=interval=5,cache=size-*"}) {
		const result got = program("endure", {spec});

		EXPECT_EQ(got.status, 0) << spec << ": " << got.err;
		EXPECT_EQ(got.out, "some failed\n") << spec;
	}
}

/* --- other programs ------------------------------------------------------------------------- */

TEST(PreloadedProcess, MayBringItsOwnMalloc)
{
	const result got = run_preloaded({OWN_MALLOC});

	EXPECT_EQ(got.status, 0) << got.err;
	EXPECT_EQ(got.err, "");
}

#ifdef STATIC_PIE
TEST(PreloadedProcess, MayBeStatic)
{
	EXPECT_EQ(run_preloaded({STATIC_PIE}).status, 0);
}
#endif

TEST(PreloadedProcess, MayLoadALibraryThatContainsItsCxxLibrary)
{
	const result got = program("static_cxx", {"STATIC_CXX=" STATIC_CXX});

	EXPECT_EQ(got.status, 0) << got.err;
}

/* Libslab reads files when it starts. */
TEST(PreloadedProcess, MayHaveAnOpenThatAllocates)
{
	const std::string both = preload + ":" OPEN_ALLOCATES;

	for (const char *engine : {"rseq", "cmpxchg16b", "mutex"}) {
		const environment set(
			{both, std::string("SLAB_ENGINE=") + engine, "SLAB_DECAY_MS=100"});

		EXPECT_EQ(run_tool({PROGRAM, "decay"}).status, 0) << engine;
	}
}

/* Some programs allocate between vfork() and the program that the child executes. */
TEST(PreloadedProcess, ChildrenOfVforkMayAllocate)
{
	for (const char *engine : {"rseq", "cmpxchg16b", "mutex"}) {
		const result got = program("vforks", {std::string("SLAB_ENGINE=") + engine});

		EXPECT_EQ(got.status, 0) << engine << ": " << got.out << got.err;
	}
}

/* --- what it gets ---------------------------------------------------------------------------- */

TEST(PreloadedProcess, DebugFlagsFindAnOverflow)
{
	const result got = program("overflow", {"SLAB_DEBUG=FZPU,size-*"});

	EXPECT_TRUE(contains(got.err, "BUG size-112: Right Redzone overwritten") ||
		    contains(got.err, "Redzone overwritten"))
		<< got.err;
	EXPECT_TRUE(contains(got.err, "program+0x")) << got.err;
	EXPECT_EQ(program("overflow").err, "");
}

TEST(PreloadedProcess, SlabinfoReadsItWithoutASocket)
{
	const environment set({preload});
	child_process waiting({PROGRAM, "wait"});
	result got;

	ASSERT_EQ(waiting.line(), "ready");
	unsetenv("LD_PRELOAD");
	got = run_tool({SLABINFO, "--pid", std::to_string(waiting.pid())});
	EXPECT_EQ(got.status, 0) << got.err;
	EXPECT_TRUE(contains(got.out, "size-832")) << got.out;
	EXPECT_EQ(waiting.wait(), 0);
}

TEST(PreloadedProcess, SlabinfoShowsItsCallSites)
{
	const environment set({preload, "SLAB_DEBUG=U,size-832"});
	child_process waiting({PROGRAM, "wait"});
	result got;

	ASSERT_EQ(waiting.line(), "ready");
	unsetenv("LD_PRELOAD");
	got = run_tool({SLABINFO, "--pid", std::to_string(waiting.pid()), "-t", "size-832"});
	EXPECT_EQ(got.status, 0) << got.err;
	EXPECT_TRUE(contains(got.out, "1000 ")) << got.out;
	EXPECT_TRUE(contains(got.out, "allocate_here") || contains(got.out, "program+0x"))
		<< got.out;
	EXPECT_EQ(waiting.wait(), 0);
}

} /* namespace */
