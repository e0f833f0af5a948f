/* SPDX-License-Identifier: MIT */
/*
 * slabinfo --record: what a sample holds, how a recording ends, and that a file that
 * is something else stays as it is.
 */
#include "pictures.h"
#include "scripted_process.h"

namespace
{

std::string answer(const std::string &request, unsigned)
{
	if (request != "stats")
		return "{\"slab\":2,\"ok\":false,\"error\":\"no\"}";
	return "{\"slab\":2,\"ok\":true,\"process\":{\"pid\":1},\"caches\":["
	       "{\"name\":\"entry\",\"object_size\":712,\"slab_size\":712,\"order\":4,"
	       "\"slabs\":120,\"slab_bytes\":7864320,\"partial\":40,\"objects\":9800,\"total_objects\":11040,"
	       "\"populated\":7864320},"
	       "{\"name\":\"a \\\"quoted\\\" / name\",\"object_size\":64,\"order\":0}]}";
}

constexpr const char *first_line_end =
	"\"caches\":[{\"name\":\"entry\",\"object_size\":712,\"objects\":9800,"
	"\"total_objects\":11040,\"slabs\":120,\"partial\":40,\"bytes\":7864320,"
	"\"used\":6977600,\"populated\":7864320},{\"name\":\"a \\\"quoted\\\" / name\","
	"\"object_size\":64,\"objects\":0,\"total_objects\":0,\"slabs\":0,\"partial\":0,"
	"\"bytes\":0,\"used\":0,\"populated\":0}]}";

const std::string start = "{\"slab_recording\":2,";

class RecordTest : public testing::Test
{
protected:
	/* The samples of a file, each of which must be whole. */
	static std::vector<json> samples(const std::string &path = "file.json")
	{
		std::vector<json> all;
		const std::string text = file_text(path);

		EXPECT_TRUE(text.empty() || text.back() == '\n') << text;
		for (const std::string &line : lines_of(text)) {
			all.emplace_back(json_tokener_parse(line.c_str()));
			EXPECT_TRUE(all.back()) << line;
		}
		return all;
	}

	static void wait_for_samples(std::size_t count)
	{
		while (!exists("file.json") || lines_of(file_text("file.json")).size() < count)
			usleep(1000);
	}

	work_dir dir;
};

class ScriptedRecordTest : public RecordTest
{
protected:
	scripted_process process{dir, answer};
};

/* --- samples ----------------------------------------------------------------------------- */

TEST_F(ScriptedRecordTest, ASampleIsALineOfJson)
{
	output_of({"--record=file.json", "--interval=0.01", "-N3"});
	const std::string text = file_text("file.json");
	const std::vector<std::string> lines = lines_of(text);

	ASSERT_EQ(lines.size(), 3U);
	for (const std::string &line : lines) {
		EXPECT_EQ(line.compare(0, start.size(), start), 0) << line;
		EXPECT_EQ(line.substr(line.find("\"caches\"")), first_line_end);
	}
	expect_valid(text);
}

TEST_F(ScriptedRecordTest, TheSchemaKnowsWhatASampleIs)
{
	const std::string text = output_of({"--record=-", "-N1"});

	for (const auto &[from, to] : std::vector<std::pair<std::string, std::string>>{
		     {"\"used\":", "\"user\":"},
		     {"\"pid\":", "\"number\":"},
		     {"\"objects\":9800", "\"objects\":-1"},
		     {"Z\",\"ms\"", "\",\"ms\""},
		     {"\"slab_recording\":2", "\"slab_recording\":3"}})
		expect_not_valid(replaced(text, from, to));
}

TEST_F(ScriptedRecordTest, ASampleHasItsTimeAndItsProcess)
{
	const time_t before = time(nullptr);

	output_of({"--record=file.json", "--interval=2.5", "-N1"});
	const std::vector<json> all = samples();

	ASSERT_EQ(all.size(), 1U);
	const std::uint64_t ms = number(all[0].get(), "ms");
	const time_t seconds = static_cast<time_t>(ms / 1000);
	struct tm parts = {};
	char date[40], time_text[64];

	EXPECT_GE(seconds, before);
	EXPECT_LE(seconds, time(nullptr));
	std::strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &parts));
	std::snprintf(time_text, sizeof(time_text), "%s.%03uZ", date,
		      static_cast<unsigned>(ms % 1000));
	EXPECT_EQ(text(all[0].get(), "time"), time_text);
	EXPECT_EQ(number(all[0].get(), "interval_ms"), 2500U);
	EXPECT_EQ(number(all[0].get(), "pid"), static_cast<std::uint64_t>(process.pid()));
	EXPECT_EQ(text(all[0].get(), "command"), "record_test");
}

TEST_F(ScriptedRecordTest, APatternChoosesCaches)
{
	output_of({"--record=file.json", "-N1", "ENT"});
	EXPECT_EQ(json_object_array_length(member(samples()[0].get(), "caches")), 1U);
}

TEST_F(ScriptedRecordTest, WithoutAMatchNothingIsRecorded)
{
	expect_error({"--record=file.json", "nobody"},
		     "no cache of process " + std::to_string(process.pid()) +
			     " (record_test) matches \"nobody\"",
		     1);
	EXPECT_EQ(file_text("file.json"), "");
}

TEST_F(ScriptedRecordTest, StandardOutputIsAFile)
{
	const std::string text = output_of({"--record=-", "--interval=0.01", "-N2"});

	EXPECT_EQ(lines_of(text).size(), 2U);
	expect_valid(text);
}

TEST_F(ScriptedRecordTest, WhatIsRecordedIsAddedToTheFile)
{
	output_of({"--record=file.json", "-N1"});
	const std::string first = file_text("file.json");

	output_of({"--record=file.json", "-N1"});
	EXPECT_EQ(file_text("file.json").compare(0, first.size(), first), 0);
	EXPECT_EQ(samples().size(), 2U);
}

/* --- how it ends --------------------------------------------------------------------------- */

TEST_F(RecordTest, EndsWithWholeLinesOnASignal)
{
	server process;

	for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
		child_process tool({SLABINFO, "--record=file.json", "--interval=0.01"});

		wait_for_samples(3);
		kill(tool.pid(), signal);
		EXPECT_EQ(tool.wait(), 0) << signal;
		EXPECT_EQ(tool.errors(), "") << signal;
		EXPECT_GE(samples().size(), 3U);
		unlink("file.json");
	}
}

/* It sleeps for hours then. */
TEST_F(RecordTest, DoesNotWaitForTheNextSampleToEnd)
{
	server process;
	child_process tool({SLABINFO, "--record=file.json", "--interval=80000"});

	wait_for_samples(1);
	kill(tool.pid(), SIGTERM);
	EXPECT_EQ(tool.wait(), 0);
}

TEST_F(RecordTest, EndsWithTheProcess)
{
	auto process = std::make_unique<server>();
	const std::string name = "process " + std::to_string(process->pid()) + " (control_server)";
	child_process tool({SLABINFO, "--record=file.json", "--interval=80000"});

	wait_for_samples(1);
	process->wait();
	EXPECT_EQ(tool.wait(), 0);
	EXPECT_EQ(tool.errors(), "slabinfo: " + name + " has ended; 1 sample is in file.json\n");
	EXPECT_EQ(samples().size(), 1U);
}

TEST_F(ScriptedRecordTest, GoesOnWhenTheProcessAnswersAgain)
{
	child_process tool(
		{"/bin/sh", "-c", "exec " SLABINFO " --record=file.json --interval=0.01 2>errors"});

	wait_for_samples(2);
	process.stop_answering();
	while (file_text("errors").empty())
		usleep(1000);
	process.answer_again();
	wait_for_samples(lines_of(file_text("file.json")).size() + 2);
	kill(tool.pid(), SIGINT);
	EXPECT_EQ(tool.wait(), 0);
	/* It is reported once. */
	const std::vector<std::string> errors = lines_of(file_text("errors"));

	ASSERT_EQ(errors.size(), 1U) << file_text("errors");
	EXPECT_TRUE(contains(errors[0], " (record_test) does not answer")) << errors[0];
}

TEST_F(RecordTest, AStoppedProcessIsReadFromItsMemory)
{
	server process;

	kill(process.pid(), SIGSTOP);
	const result got = slabinfo({"--record=file.json", "--interval=0.01", "-N3"});

	kill(process.pid(), SIGCONT);
	EXPECT_EQ(got.status, 0);
	EXPECT_EQ(got.err, "");
	EXPECT_EQ(samples().size(), 3U);
}

TEST_F(ScriptedRecordTest, AProcessThatNeverAnsweredIsNotRecorded)
{
	process.stop_answering();
	const result got = slabinfo({"--record=file.json", "-p", std::to_string(process.pid())});

	EXPECT_EQ(got.status, 2);
	EXPECT_EQ(lines_of(got.err).size(), 1U) << got.err;
}

/* --- files that are something else ------------------------------------------------------------ */

TEST_F(ScriptedRecordTest, OtherFilesStayAsTheyAre)
{
	for (const std::string &text :
	     {std::string("precious\n"), std::string("x"), std::string("{\"slab\":2}\n"),
	      std::string("{\"slab_recording\":3,}\n"), std::string(5000, ' ')}) {
		write_file("file.json", text);
		expect_error({"--record=file.json", "-N1"},
			     "file.json is not a recording and stays unchanged; give "
			     "--record a new file, or one that it made");
		EXPECT_EQ(file_text("file.json"), text);
	}
}

TEST_F(ScriptedRecordTest, ALastLineThatWasCutShortIsTakenOff)
{
	output_of({"--record=file.json", "--interval=0.01", "-N2"});
	const std::string whole = file_text("file.json");

	/* In the first line, too; and a line that is longer than what is read at once. */
	for (const std::string &kept : {std::string(), whole, whole + whole})
		for (const std::string &rest :
		     {start.substr(0, 5), start, start + std::string(10000, 'x')}) {
			write_file("file.json", kept + rest);
			const result got = slabinfo({"--record=file.json", "-N1"});

			EXPECT_EQ(got.status, 0);
			EXPECT_EQ(got.err,
				  "slabinfo: file.json: the last line was incomplete and is "
				  "removed\n");
			EXPECT_EQ(file_text("file.json").compare(0, kept.size(), kept), 0);
			EXPECT_EQ(samples().size(), lines_of(kept).size() + 1);
		}
}

/* Which could take the line that is just written for one that was cut short. */
TEST_F(ScriptedRecordTest, AFileHasOneRecorder)
{
	child_process tool({SLABINFO, "--record=file.json", "--interval=80000"});

	wait_for_samples(1);
	expect_error({"--record=file.json", "-N1"},
		     "another process records to file.json; give --record another file");
	kill(tool.pid(), SIGTERM);
	EXPECT_EQ(tool.wait(), 0);
	EXPECT_EQ(samples().size(), 1U);
}

TEST_F(ScriptedRecordTest, FilesThatCannotBeWrittenAreNamed)
{
	mkdir("directory", 0700);
	expect_error({"--record=directory", "-N1"}, "directory cannot be opened: Is a directory");
	expect_error({"--record=no/file", "-N1"},
		     "no/file cannot be opened: No such file or directory");
	expect_error({"--record=/dev/full", "-N1"},
		     "/dev/full cannot be written: No space left on device");
}

TEST_F(RecordTest, WithoutAProcessThereIsNoFile)
{
	EXPECT_EQ(slabinfo({"--record=file.json", "-N1"}).status, 2);
	EXPECT_FALSE(exists("file.json"));
}

TEST_F(RecordTest, IntervalsHaveBounds)
{
	for (const char *interval : {"0", "0.009", "86401", "-1", "1s", "", "nan", "inf"})
		expect_error({"--record=file.json", std::string("--interval=") + interval},
			     std::string("\"") + interval +
				     "\" is not an interval; accepted are 0.01 to 86400 "
				     "seconds");
	expect_error({"-l", "--interval=1"}, "--interval is the time between two looks; it "
					     "goes with --top and --record");
}

} /* namespace */
