/* SPDX-License-Identifier: MIT */
/*
 * slabinfo --profile, --pprof and --flame, on a process of which it is known what it allocates
 * (profiled_server.c). A decoder of its own reads pprof's format.
 */
#include "pictures.h"

namespace
{

/* --- a decoder of protocol buffers ------------------------------------------------------------ */

struct field {
	unsigned number = 0;
	std::uint64_t value = 0; /* of a varint */
	std::string bytes; /* of a text or a message */
};

std::uint64_t read_varint(const std::string &from, std::size_t &at)
{
	std::uint64_t value = 0;

	for (unsigned shift = 0; at < from.size() && shift < 64; shift += 7) {
		const auto byte = static_cast<unsigned char>(from[at++]);

		value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
		if (byte < 0x80)
			break;
	}
	return value;
}

std::vector<field> fields_of(const std::string &message)
{
	std::vector<field> fields;

	for (std::size_t at = 0; at < message.size();) {
		const std::uint64_t key = read_varint(message, at);
		field next;

		next.number = static_cast<unsigned>(key >> 3);
		next.value = read_varint(message, at);
		if ((key & 7) == 2) {
			if (next.value > message.size() - at) {
				ADD_FAILURE() << "a field ends behind its message";
				break;
			}
			next.bytes = message.substr(at, next.value);
			at += next.value;
		} else if ((key & 7) != 0) {
			ADD_FAILURE() << "wire type " << (key & 7);
			break;
		}
		fields.push_back(next);
	}
	return fields;
}

std::vector<std::uint64_t> numbers_of(const std::string &packed)
{
	std::vector<std::uint64_t> numbers;

	for (std::size_t at = 0; at < packed.size();)
		numbers.push_back(read_varint(packed, at));
	return numbers;
}

using number_map = std::map<unsigned, std::uint64_t>;

/* The numbers of a message, by field. */
number_map members_of(const std::string &message)
{
	number_map members;

	for (const field &next : fields_of(message))
		members[next.number] = next.value;
	return members;
}

/* --- a profile ---------------------------------------------------------------------------------- */

struct values {
	double alloc_objects = 0, alloc_space = 0, inuse_objects = 0, inuse_space = 0;
};

/* What a profile says, by the functions of its stacks. */
class decoded
{
public:
	explicit decoded(const std::string &message)
	{
		const std::vector<field> fields = fields_of(message);

		for (const field &next : fields)
			if (next.number == 6)
				text_.push_back(next.bytes);
		for (const field &next : fields)
			take(next);
		for (const field &next : fields)
			if (next.number == 2)
				take_sample(next.bytes);
	}

	/* The sums over the samples with this function in their stacks. */
	values of(const std::string &function) const
	{
		const auto found = by_function_.find(function);

		return found == by_function_.end() ? values() : found->second;
	}

	std::vector<std::string> types;
	std::vector<std::string> mapped; /* files */
	std::vector<std::string> build_ids;
	std::uint64_t period = 0;
	std::string default_type;
	std::size_t samples = 0;
	bool every_location_is_mapped = true;

private:
	struct range {
		std::uint64_t start, end;
	};

	const std::string &text(std::uint64_t number) const
	{
		static const std::string none;

		EXPECT_LT(number, text_.size());
		return number < text_.size() ? text_[number] : none;
	}

	void take(const field &next)
	{
		const bool is_message = next.number >= 1 && next.number <= 5;
		number_map members = is_message ? members_of(next.bytes) : number_map();

		switch (next.number) {
		case 1:
			types.push_back(text(members[1]) + "/" + text(members[2]));
			break;
		case 3:
			mapping_[members[1]] = {members[2], members[3]};
			mapped.push_back(text(members[5]));
			build_ids.push_back(text(members[6]));
			break;
		case 4:
			take_location(next.bytes);
			break;
		case 5:
			function_[members[1]] = text(members[2]);
			break;
		case 12:
			period = next.value;
			break;
		case 14:
			default_type = text(next.value);
			break;
		default:
			break;
		}
	}

	void take_location(const std::string &bytes)
	{
		number_map members = members_of(bytes);
		const range in = mapping_[members[2]];

		every_location_is_mapped &= members[3] >= in.start && members[3] < in.end;
		for (const field &next : fields_of(bytes))
			if (next.number == 4)
				location_[members[1]].push_back(members_of(next.bytes)[1]);
	}

	void take_sample(const std::string &bytes)
	{
		std::vector<std::uint64_t> value;
		std::map<std::string, bool> functions;

		for (const field &next : fields_of(bytes)) {
			if (next.number == 2)
				value = numbers_of(next.bytes);
			if (next.number != 1)
				continue;
			for (std::uint64_t location : numbers_of(next.bytes))
				for (std::uint64_t function : location_[location])
					functions[function_[function]] = true;
		}
		ASSERT_EQ(value.size(), 4U);
		samples++;
		for (const auto &[name, is_in] : functions) {
			values &sum = by_function_[name];

			sum.alloc_objects += static_cast<double>(value[0]);
			sum.alloc_space += static_cast<double>(value[1]);
			sum.inuse_objects += static_cast<double>(value[2]);
			sum.inuse_space += static_cast<double>(value[3]);
		}
	}

	std::vector<std::string> text_;
	std::map<std::uint64_t, range> mapping_;
	std::map<std::uint64_t, std::string> function_;
	std::map<std::uint64_t, std::vector<std::uint64_t>> location_;
	std::map<std::string, values> by_function_;
};

decoded decode(const std::string &path)
{
	EXPECT_EQ(std::system(("gzip -dc < " + path + " > decoded").c_str()), 0);
	return decoded(file_text("decoded"));
}

/* --- a process ----------------------------------------------------------------------------------- */

constexpr double period = 64 * 1024;

/* Is an estimate of n objects of a size what five standard deviations allow? */
void expect_estimate(double estimate, double n, double size)
{
	const double chance = -std::expm1(-size / period);

	EXPECT_NEAR(estimate, n, 5 * std::sqrt(n * (1 - chance) / chance) + 1) << size;
}

class HeapProfileTest : public testing::Test
{
protected:
	static std::string pid_of(const server &process)
	{
		return std::to_string(process.pid());
	}

	/* Whatever way the process was read. */
	static void expect_known_profile(const decoded &profile)
	{
		const values entries = profile.of("keep_entries"), texts = profile.of("churn_text"),
			     blocks = profile.of("keep_blocks"), all = profile.of("main");

		expect_estimate(entries.alloc_objects, 40000, 712);
		expect_estimate(entries.inuse_objects, 40000, 712);
		EXPECT_NEAR(entries.inuse_space / entries.inuse_objects, 712, 1);
		expect_estimate(texts.alloc_objects, 2000000, 48);
		EXPECT_EQ(texts.inuse_objects, 0);
		EXPECT_EQ(texts.inuse_space, 0);
		expect_estimate(blocks.alloc_objects, 200, 100000);
		expect_estimate(blocks.inuse_objects, 100, 100000);
		EXPECT_NEAR(blocks.alloc_space / blocks.alloc_objects, 100000, 500);
		EXPECT_EQ(all.inuse_space, entries.inuse_space + blocks.inuse_space);
		EXPECT_EQ(all.alloc_space,
			  entries.alloc_space + texts.alloc_space + blocks.alloc_space);
		EXPECT_EQ(profile.types,
			  (std::vector<std::string>{"alloc_objects/count", "alloc_space/bytes",
						    "inuse_objects/count", "inuse_space/bytes"}));
		EXPECT_EQ(profile.default_type, "inuse_space");
		EXPECT_TRUE(profile.every_location_is_mapped);
	}

	work_dir dir;
};

TEST_F(HeapProfileTest, PprofHasTheObjectsAndBytesOfEachFunction)
{
	server process("on", PROFILED_SERVER);

	EXPECT_EQ(output_of({"--pprof=heap.pb.gz"}), "");
	const decoded profile = decode("heap.pb.gz");

	expect_known_profile(profile);
	EXPECT_EQ(profile.period, 65536U);
	EXPECT_FALSE(profile.build_ids.empty());
	EXPECT_TRUE(contains(profile.mapped[0], "profiled_server")) << profile.mapped[0];
}

TEST_F(HeapProfileTest, InlinedFunctionsAreFunctionsOfTheirOwn)
{
	server process("on", PROFILED_SERVER);

	EXPECT_EQ(output_of({"--pprof=heap.pb.gz"}), "");
	EXPECT_EQ(output_of({"--flame=heap.svg"}), "");
	const decoded profile = decode("heap.pb.gz");
	const std::string picture = file_text("heap.svg");

	for (const std::string function : {"keep_entry", "fill_entries"}) {
		EXPECT_EQ(profile.of(function).inuse_space, profile.of("keep_entries").inuse_space);
		EXPECT_TRUE(contains(picture, "<title>" + function + ": "));
	}
	EXPECT_EQ(profile.of("entry_alloc").inuse_space, 0);
	EXPECT_FALSE(contains(picture, "…"));
}

TEST_F(HeapProfileTest, TheSameIsReadFromMemory)
{
	server process("on", PROFILED_SERVER);

	EXPECT_EQ(output_of({"--memory", "-p", pid_of(process), "--pprof=heap.pb.gz"}), "");
	expect_known_profile(decode("heap.pb.gz"));
}

TEST_F(HeapProfileTest, AStoppedProcessIsReadFromMemory)
{
	server process("on", PROFILED_SERVER);

	kill(process.pid(), SIGSTOP);
	const result got = slabinfo({"--pprof=heap.pb.gz", "-p", pid_of(process)});

	kill(process.pid(), SIGCONT);
	EXPECT_EQ(got.status, 0) << got.err;
	expect_known_profile(decode("heap.pb.gz"));
}

TEST_F(HeapProfileTest, FlameDrawsTheBytesInUse)
{
	server process("on", PROFILED_SERVER);

	EXPECT_EQ(output_of({"--flame=heap.svg"}), "");
	const std::string picture = file_text("heap.svg");

	expect_xml(picture);
	EXPECT_TRUE(contains(picture, "<title>keep_entries: "));
	EXPECT_TRUE(contains(picture, "<title>keep_blocks: "));
	EXPECT_TRUE(contains(picture, "<title>main: "));
	EXPECT_FALSE(contains(picture, "churn_text")) << "all of it is freed";
}

/* --- the peak, lifetimes ------------------------------------------------------------------------ */

/* The line of a table above the stack that begins with this function. */
std::string row_of(const std::string &table, const std::string &function)
{
	const std::vector<std::string> lines = lines_of(table);

	for (std::size_t i = 1; i < lines.size(); i++)
		if (contains(lines[i], "        " + function + " ("))
			return lines[i - 1];
	ADD_FAILURE() << function << " is not in\n" << table;
	return "";
}

TEST_F(HeapProfileTest, ThePeakHasBlocksThatAreFreedSince)
{
	server process("on", PROFILED_SERVER);

	EXPECT_EQ(output_of({"--profile=peak", "--pprof=heap.pb.gz"}), "");
	const decoded profile = decode("heap.pb.gz");
	const values blocks = profile.of("keep_blocks");

	EXPECT_EQ(blocks.inuse_objects, blocks.alloc_objects);
	EXPECT_EQ(profile.of("churn_text").inuse_objects, 0);
	EXPECT_EQ(profile.of("keep_entries").inuse_objects,
		  profile.of("keep_entries").alloc_objects);
	EXPECT_EQ(output_of({"--flame=heap.svg", "--profile=peak"}), "");
	EXPECT_TRUE(contains(file_text("heap.svg"), ") at its peak"));
}

TEST_F(HeapProfileTest, ThePeakIsATableOfCallSites)
{
	server process("on", PROFILED_SERVER);
	const std::string table = output_of({"--profile=peak", "-B"});
	std::istringstream blocks(row_of(table, "keep_blocks"));
	std::uint64_t peak = 0, now = 0, objects = 0, size = 0;

	EXPECT_EQ(table.find("Peak of process " + pid_of(process) + " (profiled_server) "), 0U);
	EXPECT_TRUE(contains(table, "s ago: ")) << table;
	blocks >> peak >> now >> objects >> size;
	EXPECT_EQ(size, 100000U);
	EXPECT_NEAR(static_cast<double>(peak), static_cast<double>(objects * size), 1e5);
	EXPECT_LT(now, peak);
	EXPECT_FALSE(contains(table, "churn_text")) << "each string is freed at once";
}

TEST_F(HeapProfileTest, LifetimesOfObjectsThatAreFreedAtOnceAreShort)
{
	server process("on", PROFILED_SERVER);
	const std::string table = output_of({"--profile=lifetimes"});
	const std::string texts = row_of(table, "churn_text");

	EXPECT_TRUE(contains(table, "Same CPU  Lifetimes from\n")) << table;
	EXPECT_TRUE(contains(texts, "us ")) << texts;
	EXPECT_TRUE(contains(texts, "%  1us ") || contains(texts, "%  2us ")) << texts;
	EXPECT_FALSE(contains(table, "keep_entries")) << "none is freed";
}

/* --- switching it ------------------------------------------------------------------------------- */

TEST_F(HeapProfileTest, TheVariableSwitchesItOn)
{
	setenv("SLAB_PROFILE", "64k", 1);
	server process("plain", PROFILED_SERVER);

	unsetenv("SLAB_PROFILE");
	EXPECT_EQ(output_of({"--pprof=heap.pb.gz"}), "");
	expect_known_profile(decode("heap.pb.gz"));
}

#ifdef LIBSLAB_MALLOC
TEST_F(HeapProfileTest, AProgramThatKnowsNothingOfLibslabHasAProfile)
{
	const std::string preload = "LD_PRELOAD=" LIBSLAB_MALLOC;
	child_process process({"/usr/bin/env", preload, "SLAB_PROFILE=1", "/bin/bash", "-c",
			       "echo ready; read line"});

	EXPECT_EQ(process.line(), "ready");
	EXPECT_EQ(output_of({"-p", std::to_string(process.pid()), "--pprof=heap.pb.gz"}), "");
	const decoded profile = decode("heap.pb.gz");

	EXPECT_GT(profile.samples, 10U);
	EXPECT_TRUE(profile.every_location_is_mapped);
	EXPECT_TRUE(contains(profile.mapped[0], "bash")) << profile.mapped[0];
}
#endif

TEST_F(HeapProfileTest, AProcessIsSwitchedOnAndOff)
{
	server process;
	const std::string name = "process " + pid_of(process) + " (control_server)";

	EXPECT_EQ(output_of({"--profile=1"}),
		  "Heap profile of " + name + ": off -> a sample every 1 bytes\n");
	process.do_task('l');
	EXPECT_EQ(output_of({"--profile=0"}),
		  "Heap profile of " + name + ": a sample every 1 bytes -> off\n");
	process.do_task('k');
	EXPECT_EQ(output_of({"--pprof=heap.pb.gz"}), "");
	const decoded profile = decode("heap.pb.gz");

	EXPECT_EQ(profile.of("leak_entries").inuse_objects, 100);
	EXPECT_EQ(profile.of("leak_entries").inuse_space, 71200);
	EXPECT_EQ(profile.of("keep_one").alloc_objects, 0);
	process.do_task('f');
	output_of({"--pprof=heap.pb.gz"});
	EXPECT_EQ(decode("heap.pb.gz").of("leak_entries").inuse_objects, 0);
	EXPECT_EQ(decode("heap.pb.gz").of("leak_entries").alloc_objects, 100);
}

TEST_F(HeapProfileTest, WithoutAProfileItSaysHowToGetOne)
{
	server process;
	const std::string name = "process " + pid_of(process) + " (control_server)";

	for (const std::string file : {"--pprof=heap.pb.gz", "--flame=heap.svg"})
		expect_error({file},
			     "the heap profile of " + name +
				     " is off; to switch it on: slabinfo -p " + pid_of(process) +
				     " --profile=512k",
			     1);
	output_of({"--profile=512k"});
	expect_error({"--pprof=heap.pb.gz"},
		     name + " has allocated nothing that was sampled since its heap profile was "
			    "switched on",
		     1);
	EXPECT_FALSE(exists("heap.pb.gz"));
}

TEST_F(HeapProfileTest, BadValuesAreRefused)
{
	server process;

	for (const std::string value : {"many", "-1", ""})
		expect_error(
			{"--profile=" + value},
			"\"" + value +
				"\" is not a number of bytes; --profile takes one, also in K, M "
				"or G, 0 for off, \"peak\" or \"lifetimes\"");
	for (const std::string value : {"512kb", "1 2"})
		expect_error({"--profile=" + value},
			     "process " + pid_of(process) + " (control_server): \"" + value +
				     "\" is not a number of bytes between samples; accepted: 0 for "
				     "off, or a number, also in K, M, G, KiB, MiB or GiB");
}

TEST_F(HeapProfileTest, AFileThatCannotBeWrittenIsNamed)
{
	server process("on", PROFILED_SERVER);

	expect_error({"--pprof=no/heap.pb.gz"},
		     "no/heap.pb.gz cannot be written: No such file or directory");
	expect_error({"--flame=no/heap.svg"},
		     "no/heap.svg cannot be written: No such file or directory");
}

} /* namespace */
