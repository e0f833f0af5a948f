/* SPDX-License-Identifier: MIT */
/*
 * slabinfo --map and --plot: the pictures, byte by byte (golden/map.svg and
 * golden/plot.svg), and the recordings that can be drawn.
 */
#include "pictures.h"
#include "scripted_process.h"

namespace
{

std::size_t count(const std::string &text, const std::string &words)
{
	std::size_t found = 0;

	for (std::size_t at = text.find(words); at != std::string::npos;
	     at = text.find(words, at + 1))
		found++;
	return found;
}

/* --- plots ---------------------------------------------------------------------------- */

constexpr unsigned long noon = 1763726400000; /* of 2025-11-21 */

struct numbers {
	std::string name;
	unsigned long objects, bytes, used;
};

std::string sample(unsigned long ms, const std::vector<numbers> &caches, unsigned pid = 4711,
		   unsigned interval = 1000)
{
	std::ostringstream text;

	text << "{\"slab_recording\":2,\"time\":\"\",\"ms\":" << ms
	     << ",\"interval_ms\":" << interval << ",\"pid\":" << pid
	     << ",\"command\":\"directory\",\"caches\":[";
	for (std::size_t i = 0; i < caches.size(); i++)
		text << (i ? "," : "") << "{\"name\":\"" << caches[i].name
		     << "\",\"objects\":" << caches[i].objects << ",\"bytes\":" << caches[i].bytes
		     << ",\"used\":" << caches[i].used << "}";
	text << "]}\n";
	return text.str();
}

/* Two caches for ten seconds; the second exists from the fourth on. */
std::string small_recording(unsigned long start = noon, unsigned pid = 4711)
{
	std::string text;

	for (unsigned long i = 0; i < 11; i++) {
		std::vector<numbers> caches = {
			{"entry", 1000 + i * 700, 1000000 + i * 500000, 712000 + i * 498400}};

		if (i >= 4)
			caches.push_back(
				{"operation", 512UL >> (i % 3), 262144, 245760UL >> (i % 3)});
		text += sample(start + i * 1000, caches, pid);
	}
	return text;
}

class PlotTest : public testing::Test
{
protected:
	/* The picture of one recording. */
	static std::string plot(const std::string &recording, std::vector<std::string> words = {})
	{
		write_file("recording.json", recording);
		words.insert(words.end(), {"--plot=plot.svg", "recording.json"});
		EXPECT_EQ(output_of(words), "");
		const std::string picture = file_text("plot.svg");

		expect_xml(picture);
		return picture;
	}

	/* The d of the lines of this class, one for each panel. */
	static std::vector<std::string> lines_drawn(const std::string &picture,
						    const std::string &classes = "c0 d0")
	{
		const std::string begin = "<path class=\"l " + classes + "\" d=\"M ";
		std::vector<std::string> found;

		for (const std::string &line : lines_of(picture))
			if (line.compare(0, begin.size(), begin) == 0)
				found.push_back(line.substr(begin.size() - 2));
		return found;
	}

	work_dir dir;
};

TEST_F(PlotTest, DrawsWhatItAlwaysDrew)
{
	expect_golden("plot.svg", without_style(plot(small_recording())));
}

TEST_F(PlotTest, StandardOutputIsAFile)
{
	const std::string picture = plot(small_recording());

	EXPECT_EQ(output_of({"--plot=-", "recording.json"}), picture);
}

TEST_F(PlotTest, FollowsTheThemeOfTheReader)
{
	const std::string picture = plot(small_recording());

	EXPECT_EQ(count(picture, "@media (prefers-color-scheme:dark){"), 1U);
	EXPECT_EQ(count(picture, "href"), 0U);
	EXPECT_EQ(count(picture, "<script"), 0U);
}

TEST_F(PlotTest, OneSampleIsADot)
{
	const std::string picture = plot(sample(noon, {{"entry", 10, 4096, 400}}));

	ASSERT_EQ(lines_drawn(picture).size(), 3U);
	for (const std::string &line : lines_drawn(picture))
		EXPECT_TRUE(contains(line, "m-3 0h6\"")) << line;
	EXPECT_TRUE(contains(picture, "1 sample of 1 cache."));
}

TEST_F(PlotTest, SamplesInWhichNothingIsAllocatedAreDrawn)
{
	plot(sample(noon, {{"entry", 0, 0, 0}}) + sample(noon + 1000, {}));
	EXPECT_TRUE(contains(plot(sample(noon, {}) + sample(noon + 1000, {})),
			     "2 samples of 0 caches."));
}

TEST_F(PlotTest, ALineIsInterruptedWhereNothingIsKnown)
{
	const numbers entry = {"entry", 10, 4096, 400};
	const std::string picture =
		plot(sample(noon, {entry}) + sample(noon + 1000, {entry}) +
		     sample(noon + 9000, {entry}) + sample(noon + 10000, {entry}));

	for (const std::string &line : lines_drawn(picture))
		EXPECT_EQ(count(line, "M"), 2U) << line;
}

TEST_F(PlotTest, ProcessesThatFollowEachOtherAreMarked)
{
	const std::string picture = plot(small_recording() + small_recording(noon + 11000, 4712));

	EXPECT_TRUE(contains(picture, "2 processes after each other"));
	EXPECT_EQ(count(picture, ">process 4712<"), 1U);
	EXPECT_EQ(count(picture, "<path class=\"change\""), 3U);
	for (const std::string &line : lines_drawn(picture))
		EXPECT_EQ(count(line, "M"), 2U) << line;
}

TEST_F(PlotTest, SeveralFilesAreOnePicture)
{
	const std::string whole = plot(small_recording() + small_recording(noon + 11000));

	write_file("one.json", small_recording());
	write_file("two.json", small_recording(noon + 11000));
	EXPECT_EQ(output_of({"--plot=-", "two.json", "one.json"}), whole);
}

TEST_F(PlotTest, TheLargestCachesHaveLinesOfTheirOwn)
{
	std::vector<numbers> caches;

	for (unsigned long i = 0; i < 200; i++)
		caches.push_back({"cache" + std::to_string(i), i, i * 4096, i * 100});
	const std::string recording = sample(noon, caches) + sample(noon + 1000, caches);
	const std::string picture = plot(recording);

	EXPECT_EQ(lines_drawn(picture, "c7 d0").size(), 3U);
	EXPECT_EQ(lines_drawn(picture, "c0 d1").size(), 0U);
	EXPECT_EQ(lines_drawn(picture, "other").size(), 3U);
	EXPECT_EQ(count(picture, ">cache192 <"), 3U);
	EXPECT_EQ(count(picture, ">cache191 <"), 0U);
	EXPECT_EQ(count(picture, ">192 others <"), 3U);
	EXPECT_EQ(lines_drawn(plot(recording, {"-N20"}), "c0 d1").size(), 3U);
}

/* A week of seconds is not larger than what the picture has room for, and the one
 * peak of it is there. */
TEST_F(PlotTest, ManySamplesAreNotALargePicture)
{
	std::string recording;

	for (unsigned long i = 0; i < 20000; i++)
		recording += sample(noon + i * 1000, {{"entry", i == 7777 ? 900UL : 1, 4096, 100}});
	const std::string picture = plot(recording);

	EXPECT_LT(picture.size(), 200000U);
	EXPECT_TRUE(contains(picture, ">800<"));
}

TEST_F(PlotTest, NamesAreTextAndNothingElse)
{
	const std::string picture =
		plot(replaced(sample(noon, {{"<b>&\\\"'\\u0007é\\u20ac", 10, 4096, 400}}),
			      "directory", "a<b>&c"));

	EXPECT_TRUE(contains(picture, "&#60;b&#62;&#38;&#34;'?é€"));
	EXPECT_TRUE(contains(picture, "Caches of a&#60;b&#62;&#38;c<"));
}

TEST_F(PlotTest, NumbersMayBeLarge)
{
	const numbers largest = {"entry", UINT64_MAX, UINT64_MAX, 0};
	const std::string picture =
		plot(sample(noon, {largest, {"other", 1, 1, 1}}, 4711, 86400000) +
		     sample(253402300799999, {largest, {"other", 1, 1, 1}}));

	EXPECT_TRUE(contains(picture, ">20000000T<"));
}

TEST_F(PlotTest, LongNamesAreCutInTheMiddle)
{
	const std::string start(40, 'x');
	const std::string picture = plot(
		sample(noon, {{start + "_one", 10, 4096, 400}, {start + "é_two", 10, 4096, 400}}));

	EXPECT_EQ(count(picture, start), 0U);
	EXPECT_EQ(count(picture, "xx…"), 6U);
	EXPECT_EQ(count(picture, "_one <"), 3U);
	EXPECT_EQ(count(picture, "_two <"), 3U);
}

TEST_F(PlotTest, ALastLineThatWasCutShortIsLeftOut)
{
	const std::string whole = small_recording();
	const std::string picture = plot(whole);

	for (const std::size_t size : {5UL, 40UL, 100UL}) {
		write_file("recording.json", whole + whole.substr(0, size));
		const result got = slabinfo({"--plot=-", "recording.json"});

		EXPECT_EQ(got.status, 0);
		EXPECT_EQ(got.out, picture);
		EXPECT_EQ(got.err, "slabinfo: recording.json: the last line, 12, is incomplete and "
				   "is ignored\n");
	}
}

TEST_F(PlotTest, ALineThatIsNoSampleIsNamed)
{
	const std::string good = small_recording();

	for (const char *line :
	     {"\n", "x\n", "{}\n", "[]\n", "{\"slab_recording\":2,\"ms\":1}\n",
	      "{\"slab_recording\":3,\"ms\":1,\"caches\":[]}\n",
	      "{\"slab_recording\":2,\"ms\":18446744073709551615,\"caches\":[]}\n",
	      "{\"slab_recording\":2,\"ms\":0,\"caches\":[]}\n", "{\"slab_recording\":2,\n", "x"}) {
		write_file("recording.json", good + line);
		expect_error({"--plot=plot.svg", "recording.json"},
			     "recording.json: line 12 is not a sample that --record wrote");
	}
}

TEST_F(PlotTest, FilesThatAreSomethingElseAreNamed)
{
	write_file("recording.json", "");
	expect_error({"--plot=plot.svg", "recording.json"},
		     "recording.json has no samples; slabinfo --record=recording.json takes "
		     "some");
	expect_error({"--plot=plot.svg", "no.json"},
		     "no.json cannot be opened: No such file or directory");
	expect_error({"--plot=plot.svg", "/"}, "/ cannot be read: Is a directory");
	expect_error({"--plot=plot.svg"},
		     "--plot needs the recordings to draw: slabinfo --plot=SVG FILE...");
	EXPECT_FALSE(exists("plot.svg"));
}

TEST_F(PlotTest, RecordingsOfTheSameTimeAreNotMixed)
{
	write_file("one.json", small_recording());
	write_file("two.json", small_recording(noon + 10000, 4712));
	expect_error({"--plot=plot.svg", "one.json", "two.json"},
		     "one.json and two.json are of the same time; plot them one by one");
	expect_error({"--plot=plot.svg", "one.json", "one.json"},
		     "one.json and one.json are of the same time; plot them one by one");
}

TEST_F(PlotTest, APictureThatCannotBeWrittenLeavesTheLastOne)
{
	write_file("recording.json", small_recording());
	mkdir("fixed", 0700);
	expect_error({"--plot=fixed", "recording.json"}, "fixed cannot be written: Is a directory");
	expect_error({"--plot=no/plot.svg", "recording.json"},
		     "no/plot.svg cannot be written: No such file or directory");
	expect_error({"--plot=/dev/full", "recording.json"},
		     "/dev/full cannot be written: No space left on device");
	write_file("plot.svg", "the last one");
	write_file("recording.json", "x\n");
	EXPECT_EQ(slabinfo({"--plot=plot.svg", "recording.json"}).status, 2);
	EXPECT_EQ(file_text("plot.svg"), "the last one");
}

TEST_F(PlotTest, RecordingsOfAProcessCanBeDrawn)
{
	server process;

	output_of({"--record=recording.json", "--interval=0.01", "-N3"});
	const std::string picture = plot(file_text("recording.json"));

	EXPECT_TRUE(contains(picture, "Caches of control_server<"));
	EXPECT_TRUE(contains(picture, ". 3 samples of 4 caches."));
}

/* --- maps ----------------------------------------------------------------------------- */

/* Slabs of all states in entry; none in idle; one in "a <name> & more". */
std::string answer(const std::string &request, unsigned)
{
	if (request == "stats")
		return "{\"slab\":2,\"ok\":true,\"process\":{\"pid\":1,\"nodes\":1},\"caches\":["
		       "{\"name\":\"entry\",\"object_size\":712,\"slab_size\":712,\"order\":4,"
		       "\"objects_per_slab\":92,\"slabs\":9,\"slab_bytes\":589824,\"partial\":2,\"objects\":400},"
		       "{\"name\":\"idle\",\"object_size\":64},"
		       "{\"name\":\"a <name> & more\",\"object_size\":100,\"order\":0,"
		       "\"objects_per_slab\":40,\"slabs\":1,\"slab_bytes\":4096,\"objects\":40}]}";
	if (request == "slabs entry")
		return "{\"slab\":2,\"ok\":true,\"name\":\"entry\",\"total\":9,\"columns\":"
		       "[\"address\",\"used\",\"room\",\"state\",\"node\",\"debug_flags\"],"
		       "\"slabs\":[[65536,92,92,\"full\",0,\"-\"],"
		       "[131072,0,92,\"empty\",0,\"-\"],[196608,91,92,\"partial\",0,\"-\"],"
		       "[262144,30,92,\"partial\",0,\"-\"],[327680,92,92,\"full\",0,\"-\"],"
		       "[393216,1,92,\"partial\",0,\"-\"],[458752,50,60,\"debug\",0,\"FZ\"],"
		       "[524288,44,92,\"legacy\",0,\"-\"],[589824,0,1,\"guarded\",0,\"-\"]]}";
	return "{\"slab\":2,\"ok\":true,\"name\":\"a <name> & more\",\"total\":1,\"columns\":"
	       "[\"address\",\"used\",\"room\",\"state\",\"node\",\"debug_flags\"],"
	       "\"slabs\":[[4096,40,40,\"full\",0,\"-\"]]}";
}

/* Without what is of this run: the process's number and the time. */
std::string normal(std::string picture, pid_t pid)
{
	const std::string process_line = "Process " + std::to_string(pid) + ", ";
	const std::size_t at = picture.find(process_line);

	EXPECT_NE(at, std::string::npos);
	if (at != std::string::npos)
		picture.replace(at, picture.find(". ", at) - at, "Process PID, TIME");
	return replaced(picture, "process " + std::to_string(pid) + " (", "process PID (");
}

class MapTest : public testing::Test
{
protected:
	static std::string map(std::vector<std::string> words = {})
	{
		words.emplace_back("--map=map.svg");
		EXPECT_EQ(output_of(words), "");
		const std::string picture = file_text("map.svg");

		expect_xml(picture);
		return picture;
	}

	work_dir dir;
};

TEST_F(MapTest, DrawsWhatItAlwaysDrew)
{
	scripted_process process(dir, answer);

	expect_golden("map.svg", without_style(normal(map(), process.pid())));
}

TEST_F(MapTest, DrawsTheCachesThatAreChosen)
{
	scripted_process process(dir, answer);
	const std::string picture = map({"entry|idle"});

	EXPECT_TRUE(contains(picture, ">entry<"));
	EXPECT_FALSE(contains(picture, "more"));
	EXPECT_TRUE(contains(picture, "1 cache without slabs: idle."));
}

/* 50000 partial slabs. */
std::string many(const std::string &request, unsigned)
{
	std::ostringstream text;

	if (request == "stats")
		return "{\"slab\":2,\"ok\":true,\"process\":{},\"caches\":[{\"name\":\"entry\","
		       "\"object_size\":64,\"slabs\":60000,\"objects\":1600000}]}";
	text << "{\"slab\":2,\"ok\":true,\"total\":60000,\"columns\":[\"address\",\"used\",\"room\","
		"\"state\",\"node\",\"debug_flags\"],\"slabs\":[";
	for (unsigned i = 0; i < 50000; i++)
		text << (i ? "," : "") << "[" << (i + 1) * 4096 << ",32,64,\"partial\",0,\"-\"]";
	text << "]}";
	return text.str();
}

TEST_F(MapTest, ACellStandsForNeighboursWhenThereAreMany)
{
	scripted_process process(dir, many);
	const std::string picture = map();

	EXPECT_EQ(count(picture, ": 3 slabs, 96 of 192</title>"), 16666U);
	EXPECT_TRUE(contains(picture, "a cell stands for up to 3 neighbours"));
	EXPECT_TRUE(contains(picture, ">50000 slabs, 50 %<"));
}

TEST_F(MapTest, DrawsTheSameFromMemory)
{
	server process;
	const std::string asked = normal(map(), process.pid());

	EXPECT_EQ(normal(map({"--memory", "-p", std::to_string(process.pid())}), process.pid()),
		  asked);
	EXPECT_TRUE(contains(asked, ">entry<"));
	EXPECT_TRUE(contains(asked, "1 cache without slabs: empty."));
}

/* CPUs hold all objects of a slab. */
std::string held(const std::string &request, unsigned)
{
	if (request == "stats")
		return R"({"slab":2,"ok":true,"process":{},"caches":[{"name":"entry","object_size":64,)"
		       R"("slabs":1,"slab_bytes":4096,"full":1,"cpu_objects":64}]})";
	return R"({"slab":2,"ok":true,"total":1,"columns":["address","used","room","state","node",)"
	       R"("debug_flags"],"slabs":[[65536,0,64,"full",0,"-"]]})";
}

TEST_F(MapTest, AFullSlabOfObjectsThatCpusHoldIsUnused)
{
	scripted_process process(dir, held);
	const std::string picture = map();

	EXPECT_TRUE(contains(picture, ">0 % used<"));
	EXPECT_TRUE(contains(picture, ">1 slab, 0 %, CPUs hold the rest<"));
}

std::string nonsense(const std::string &request, unsigned asked)
{
	return request == "stats" ? answer(request, asked) : "{\"slab\":2,\"ok\":true,\"slabs\":7}";
}

TEST_F(MapTest, AnAnswerThatIsNotUnderstoodIsNoPicture)
{
	scripted_process process(dir, nonsense);

	expect_error({"--map=map.svg"},
		     "process " + std::to_string(process.pid()) +
			     " (pictures_test) sent slabs of a <name> & more in an unknown format");
	EXPECT_FALSE(exists("map.svg"));
}

TEST_F(MapTest, APictureThatCannotBeWrittenIsNamed)
{
	scripted_process process(dir, answer);

	expect_error({"--map=no/map.svg"},
		     "no/map.svg cannot be written: No such file or directory");
	expect_error({"--map=map.svg", "nobody"},
		     "no cache of process " + std::to_string(process.pid()) +
			     " (pictures_test) matches \"nobody\"",
		     1);
}

} /* namespace */
