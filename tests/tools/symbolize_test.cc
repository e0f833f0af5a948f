/* SPDX-License-Identifier: MIT */
/*
 * slab-symbolize, its answers and its complaints, and what it shares with
 * slabinfo: names, and texts that have to be cut.
 */
#include <link.h>

#include "../support/folder.h"

extern "C" {
#include "jumps.h"
#include "name.h"
#include "symbolizer.h"
}

namespace
{

extern "C" __attribute__((noinline)) const void *
a_function_with_a_name_that_is_rather_long_for_one_line(int *line)
{
	const void *volatile frame = __builtin_return_address(0);
	*line = __LINE__;
	return frame;
}

/* Return addresses in this program: calls that the lines below make. */
struct call {
	const void *frame;
	int line; /* of the call */
	uint64_t offset;
};

extern "C" __attribute__((noinline)) struct call known_function()
{
	struct link_map *map;
	struct call call = {};
	int other;
	Dl_info info;

	/* clang-format off */
	call.frame = a_function_with_a_name_that_is_rather_long_for_one_line(&other); call.line = __LINE__;
	/* clang-format on */
	dladdr1(call.frame, &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP);
	call.offset = reinterpret_cast<uintptr_t>(call.frame) - map->l_addr;
	return call;
}

/* Inlined code in inlined code, and a wrapper that is none of the frames. */
struct lines {
	int inner, middle, outer;
};

__attribute__((always_inline, artificial)) static inline void wrapper(struct call *call)
{
	int other;

	call->frame = a_function_with_a_name_that_is_rather_long_for_one_line(&other);
	__asm__ volatile("");
}

__attribute__((always_inline)) static inline void inner_code(struct call *call, struct lines *lines)
{
	/* clang-format off */
	wrapper(call); lines->inner = __LINE__;
	/* clang-format on */
}

__attribute__((always_inline)) static inline void middle_code(struct call *call,
							      struct lines *lines)
{
	/* clang-format off */
	inner_code(call, lines); lines->middle = __LINE__;
	/* clang-format on */
}

extern "C" __attribute__((noinline)) struct call outer_function(struct lines *lines)
{
	struct link_map *map;
	struct call call = {};
	Dl_info info;

	/* clang-format off */
	middle_code(&call, lines); lines->outer = __LINE__;
	/* clang-format on */
	dladdr1(call.frame, &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP);
	call.offset = reinterpret_cast<uintptr_t>(call.frame) - map->l_addr;
	return call;
}

std::string own_path()
{
	char path[4096] = {};

	EXPECT_GT(readlink("/proc/self/exe", path, sizeof(path) - 1), 0);
	return path;
}

class SymbolizeTest : public testing::Test
{
protected:
	struct result {
		int status;
		std::string out, err;
	};

	/* Run slab-symbolize with this on stdin. */
	struct result run(const std::string &input, const std::string &arguments = "") const
	{
		std::ofstream(folder_.path + "/in") << input;

		const std::string command = "cd " + folder_.path + " && " SLAB_SYMBOLIZE " " +
					    arguments + " <in >out 2>err";
		const int status = std::system(command.c_str());

		return {WEXITSTATUS(status), file("out"), file("err")};
	}

	std::string file(const std::string &name) const
	{
		std::stringstream text;

		text << std::ifstream(folder_.path + "/" + name).rdbuf();
		return text.str();
	}

	/* An address as a report has it. */
	static std::string request(const std::string &path, uint64_t offset)
	{
		std::stringstream text;

		text << "(" << path << "+0x" << std::hex << offset << ")\n";
		return text.str();
	}

	/* A stack of this program as a report has it. */
	static std::string frames(std::initializer_list<const void *> addresses)
	{
		std::string text;

		for (const void *address : addresses) {
			struct link_map *map;
			Dl_info info;

			dladdr1(address, &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP);
			text += "\t" + request(own_path(),
					       reinterpret_cast<uintptr_t>(address) - map->l_addr);
		}
		return text;
	}

	void shell(const std::string &command) const
	{
		ASSERT_EQ(std::system(("cd " + folder_.path + " && " + command).c_str()), 0)
			<< command;
	}

	/* The text for an address in known_function() when all is known. */
	std::string full(const struct call &call) const
	{
		std::stringstream text;

		text << "known_function+0x" << std::hex
		     << reinterpret_cast<uintptr_t>(call.frame) -
				reinterpret_cast<uintptr_t>(&known_function)
		     << " (symbolize_test.cc:" << std::dec << call.line << ")";
		return text.str();
	}

	std::string without_place(const struct call &call) const
	{
		const std::string text = full(call);

		return text.substr(0, text.find(" ("));
	}

	const folder folder_;
	const struct call call_ = known_function();
};

/* ---- the program ---- */

TEST_F(SymbolizeTest, AddressesInALogAreReplaced)
{
	std::string known = request(own_path(), call_.offset);

	known.pop_back();
	const struct result result =
		run("Allocated in " + known + " age=1 ms\n\tknown_function+0x1 " + known + "\n\n" +
		    known + known + "(/nonexistent+0x10) a text");

	EXPECT_EQ(result.out, "Allocated in " + full(call_) + " age=1 ms\n\t" + full(call_) +
				      "\n\n" + full(call_) + full(call_) +
				      "(/nonexistent+0x10) a text");
	EXPECT_EQ(result.err, "");
	EXPECT_EQ(result.status, 0);
}

/* inner_code, middle_code and outer_function, with these texts between and behind them. */
std::string chain(const struct call &call, const struct lines &lines, const std::string &between)
{
	std::stringstream text;

	text << "inner_code (symbolize_test.cc:" << lines.inner << ")" << between
	     << "middle_code (symbolize_test.cc:" << lines.middle << ")" << between
	     << "outer_function+0x" << std::hex
	     << reinterpret_cast<uintptr_t>(call.frame) -
			reinterpret_cast<uintptr_t>(&outer_function)
	     << std::dec << " (symbolize_test.cc:" << lines.outer << ")";
	return text.str();
}

TEST_F(SymbolizeTest, AnAddressAloneOnItsLineIsALineForEachInlinedFunction)
{
	struct lines lines;
	const struct call call = outer_function(&lines);

	EXPECT_EQ(run("\touter_function+0x8 " + request(own_path(), call.offset) + "end\n").out,
		  "\t" + chain(call, lines, "\n\t") + "\nend\n");
}

TEST_F(SymbolizeTest, WithinALineAnAddressIsTheInnermostFunction)
{
	struct lines lines;
	const struct call call = outer_function(&lines);
	const std::string text = chain(call, lines, "\n");
	std::string known = request(own_path(), call.offset);

	known.pop_back();
	EXPECT_EQ(run("Detected in " + known + " cpu=0\n").out,
		  "Detected in " + text.substr(0, text.find('\n')) + " cpu=0\n");
}

/* ---- functions that were left by a jump ---- */

/* The functions and lines, without offsets. */
std::string stack_of(std::string text)
{
	for (std::size_t at; (at = text.find("+0x")) != std::string::npos;)
		text.erase(at, text.find_first_of(" \n", at) - at);
	for (std::size_t at; (at = text.find("(jumps.c:")) != std::string::npos;)
		text.replace(at, 9, "(");
	return text;
}

TEST_F(SymbolizeTest, AFunctionThatWasLeftByAJumpIsAFrame)
{
	struct jumps jumps = {};

	outer(&jumps, jumps_on);
	const std::string stack = stack_of(run(frames({jumps.innermost, jumps.caller})).out);
	const std::string jump = "jumps_on (" + std::to_string(jumps.jump_line) + ")";

	EXPECT_NE(stack.find("\n\t" + jump + "\n\touter ("), std::string::npos) << stack;
}

TEST_F(SymbolizeTest, AFunctionThatWasLeftByAJumpToLibslabIsTheFirstFrame)
{
	struct jumps jumps = {};

	outer(&jumps, jumps_to_libslab);
	const std::string stack = stack_of(run(frames({jumps.caller})).out);
	const std::string jump = "jumps_to_libslab (" + std::to_string(jumps.jump_line) + ")";

	EXPECT_EQ(stack.find("\t" + jump + "\n\touter ("), 0U) << stack;
}

TEST_F(SymbolizeTest, AFunctionThatCouldHaveBeenLeftByAJumpIsOneFrame)
{
	struct jumps jumps = {};

	outer(&jumps, calls_first);
	const std::string stack =
		stack_of(run(frames({jumps.innermost, jumps.caller, jumps.outer})).out);

	EXPECT_EQ(std::count(stack.begin(), stack.end(), '\n'), 3) << stack;
}

TEST_F(SymbolizeTest, WhatIsNoProgramStaysAsItIs)
{
	std::ofstream(folder_.path + "/text") << "no program";
	const std::string text = request(folder_.path + "/text", 4) + request(folder_.path, 4) +
				 request(own_path(), 0) + request(own_path(), UINT64_MAX);

	EXPECT_EQ(run(text).out, text);
}

TEST_F(SymbolizeTest, WithoutDebugInformationTheSymbolTableIsEnough)
{
	shell("strip -g -o copy " + own_path());
	EXPECT_EQ(run(request(folder_.path + "/copy", call_.offset)).out,
		  without_place(call_) + "\n");
}

TEST_F(SymbolizeTest, SeparateDebugInformationIsFound)
{
	const std::string text = request(folder_.path + "/copy", call_.offset);

	shell("objcopy --only-keep-debug " + own_path() + " apart.debug");
	shell("strip -s -o copy " + own_path());
	EXPECT_EQ(run(text).out, text);
	shell("objcopy --add-gnu-debuglink=apart.debug copy");
	EXPECT_EQ(run(text).out, full(call_) + "\n");
}

TEST_F(SymbolizeTest, OtherTextIsCopied)
{
	const std::string known = request(own_path(), call_.offset);

	for (const std::string &other :
	     {std::string("nonsense\n"), std::string("\n"), std::string("(/bin/sh+0x)\n"),
	      std::string("(/bin/sh+0x1 )\n"), std::string("(/bin/sh+12)\n"),
	      std::string("(/bin/sh+0x11112222333344445)\n"), std::string("(/"),
	      std::string("a zero\0and (/bin/sh+0x1)\n", 25), own_path() + "+0x10\n"})
		EXPECT_EQ(run(known + other).out, full(call_) + "\n" + other);
	EXPECT_EQ(run("(/ " + known).out, "(/ " + full(call_) + "\n");
}

TEST_F(SymbolizeTest, AnUnknownArgumentIsOneErrorMessage)
{
	const struct result result = run("", "--addresses");

	EXPECT_EQ(result.err, "slab-symbolize: \"--addresses\" is not an option; the log is read "
			      "from stdin, and --help explains how\n");
	EXPECT_EQ(result.status, 2);
}

TEST_F(SymbolizeTest, ExplainsItself)
{
	const struct result result = run("", "--help");

	EXPECT_EQ(result.out.rfind("usage: slab-symbolize [--background | FILE...] < LOG\n", 0), 0);
	EXPECT_EQ(result.status, 0);
}

TEST_F(SymbolizeTest, ReportsThatTheAnswerCannotBeWritten)
{
	std::ofstream(folder_.path + "/in") << request(own_path(), call_.offset);
	shell(SLAB_SYMBOLIZE " <in >/dev/full 2>err; [ $? = 1 ]");
	EXPECT_EQ(file("err"), "slab-symbolize: the answer could not be written\n");
}

/* ---- texts ---- */

std::string lookup(const std::string &path, uint64_t offset, size_t size)
{
	struct symbolizer *symbolizer = symbolizer_open();
	std::string text(size, '?');
	size_t count;
	const struct symbol_frame *frame =
		symbolizer_lookup(symbolizer, path.c_str(), offset, CALLEE_UNKNOWN, &count);

	text = count ? symbol_frame_text(frame, &text[0], size) : "";
	symbolizer_close(symbolizer);
	return text;
}

TEST_F(SymbolizeTest, NamesAreCutInFavourOfThePlace)
{
	const std::string path = own_path();
	const std::string text = full(call_);
	const std::string end = text.substr(text.find('+'));

	EXPECT_EQ(lookup(path, call_.offset, text.size() + 1), text);
	EXPECT_EQ(lookup(path, call_.offset, text.size()), "known_func..." + end);
	EXPECT_EQ(lookup(path, call_.offset, end.size() + 5), "k..." + end);
	EXPECT_EQ(lookup(path, call_.offset, 8), "");
}

/* ---- names ---- */

std::string readable(const char *name)
{
	char *text = name_readable(name);
	std::string result = text;

	std::free(text);
	return result;
}

TEST(SymbolizeNameTest, NamesOfCAreLeftAlone)
{
	EXPECT_EQ(readable("entry_new"), "entry_new");
	EXPECT_EQ(readable("entry_new.part.0"), "entry_new.part.0");
	EXPECT_EQ(readable("_Z"), "_Z");
	EXPECT_EQ(name_readable(nullptr), nullptr);
}

TEST(SymbolizeNameTest, ArgumentsAndResultsAreLeftOut)
{
	EXPECT_EQ(readable("_Z3addii"), "add");
	EXPECT_EQ(readable("_ZNK5entry4findEPKc"), "entry::find");
	EXPECT_EQ(readable("_ZNSt6vectorIiSaIiEE9push_backERKi"), "std::vector::push_back");
	/* int first<int>(int) */
	EXPECT_EQ(readable("_Z5firstIiET_S0_"), "first");
	/* decltype ({parm#1}+(0)) sum<int>(int) */
	EXPECT_EQ(readable("_Z3sumIiEDTplfp_Li0EET_"), "sum");
}

TEST(SymbolizeNameTest, AnonymousNamespacesAreLeftOut)
{
	EXPECT_EQ(readable("_ZN12_GLOBAL__N_15probeEv"), "probe");
	EXPECT_EQ(readable("_ZN4test12_GLOBAL__N_15probeEv"), "test::probe");
}

TEST(SymbolizeNameTest, OperatorsKeepTheirBrackets)
{
	EXPECT_EQ(readable("_ZN4lessclERKiS1_"), "less::operator()");
	EXPECT_EQ(readable("_ZNK4lessltERKS_"), "less::operator<");
	EXPECT_EQ(readable("_ZlsRSoRK5entry"), "operator<<");
	EXPECT_EQ(readable("_ZN4listixEm"), "list::operator[]");
	EXPECT_EQ(readable("_ZN3ptrptEv"), "ptr::operator->");
	EXPECT_EQ(readable("_Znwm"), "operator new");
	EXPECT_EQ(readable("_ZNK5entrycvbEv"), "entry::operator bool");
	EXPECT_EQ(readable("_ZN5entry9operatorsEv"), "entry::operators");
}

TEST(SymbolizeNameTest, LambdasAreNamedAfterWhereTheyAre)
{
	EXPECT_EQ(readable("_ZZN5entry4findEPKcENKUliE_clEi"),
		  "entry::find::{lambda#1}::operator()");
}

} /* namespace */
