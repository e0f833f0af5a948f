/* SPDX-License-Identifier: MIT */
/*
 * What slabinfo and the control socket say in JSON is what
 * docs/schema/slabinfo.schema.json describes; and the schema refuses what is not.
 */
#include "../support/looks.h"
#include "../support/server.h"

namespace
{

constexpr int no_validator = 77;

/* Of one document or several, one behind the other. */
result validate(const std::string &documents, const std::string &how = "closed")
{
	child_process interpreter({"/usr/bin/python3", VALIDATE, SCHEMA, how});
	result got;

	interpreter.write_line(documents);
	interpreter.end_input();
	got.out = interpreter.rest_of_output();
	got.err = interpreter.errors();
	got.status = interpreter.wait();
	return got;
}

void expect_valid(const std::string &documents)
{
	const result got = validate(documents);

	EXPECT_EQ(got.status, 0) << got.out << got.err << documents;
}

class JsonSchemaTest : public testing::Test
{
protected:
	void SetUp() override
	{
		if (!exists("/usr/bin/python3") ||
		    validate("{\"slab\":2,\"ok\":false,\"error\":\"\"}").status == no_validator)
			GTEST_SKIP() << "python3-jsonschema is not installed";
	}

	runtime_dir dir;
};

TEST_F(JsonSchemaTest, Caches)
{
	server process;

	expect_valid(output_of({"--json"}) + output_of({"--json", "^empty$"}) +
		     output_of({"--json", "first"}) + output_of({"--json", "-T"}) +
		     output_of({"--json", "-X", "-N", "2"}));
}

TEST_F(JsonSchemaTest, CachesThatAreInUse)
{
	server process("load");

	expect_valid(output_of({"--json"}) + output_of({"--json", "--memory"}));
}

TEST_F(JsonSchemaTest, DebugFlagsLegacySlabsAndSampling)
{
	server process;

	EXPECT_EQ(slabinfo({"-da", "entry"}).status, 0);
	process.do_task('l');
	EXPECT_EQ(slabinfo({"-dzpA", "entry"}).status, 0);
	EXPECT_EQ(slabinfo({"-df", "pblock"}).status, 0);
	EXPECT_EQ(slabinfo({"--sample=1", "pblock"}).status, 0);
	process.do_task('p');
	const std::string document = output_of({"--json"});

	EXPECT_TRUE(contains(document, "\"debug_flags\": \"ZPA\""));
	expect_valid(document);
}

TEST_F(JsonSchemaTest, SeveralNodes)
{
	setenv("SLAB_FAKE_NODES", "2", 1);
	server process;

	unsetenv("SLAB_FAKE_NODES");
	expect_valid(output_of({"--json"}));
}

TEST_F(JsonSchemaTest, CallSites)
{
	server process;

	EXPECT_EQ(slabinfo({"-du", "entry"}).status, 0);
	EXPECT_EQ(slabinfo({"--mark"}).status, 0);
	process.do_task('l');
	const std::string document = output_of({"--json", "-t", "entry"});

	EXPECT_TRUE(contains(document, "leak_entries")) << document;
	expect_valid(document + output_of({"--json", "--since-mark"}) +
		     output_of({"--json", "--waste"}));
}

TEST_F(JsonSchemaTest, Leaks)
{
	if (under_asan || under_tsan)
		GTEST_SKIP() << "a process with sanitizers has terabytes of shadow";
	server process;

	EXPECT_EQ(slabinfo({"-du", "entry"}).status, 0);
	process.do_task('k');
	process.do_task('k');
	const result got = slabinfo({"--find-leaks", "--json"});

	EXPECT_EQ(got.status, 1) << got.err;
	EXPECT_TRUE(contains(got.out, "\"symbol\": \"keep_one+0x")) << got.out;
	expect_valid(got.out);
}

TEST_F(JsonSchemaTest, Processes)
{
	server one, other;

	expect_valid(output_of({"--json", "--list"}));
}

TEST_F(JsonSchemaTest, WhatIsReadOfAProcess)
{
	server process;
	std::string documents;

	for (const char *request : {"stats", "slabs entry", "slabs empty", "traces freed 0 entry",
				    "objects", "objects entry", "regions", "waste", "slabs nobody"})
		documents += look_text(process.pid(), request);
	expect_valid(documents);
}

/* --- what is refused -------------------------------------------------------------- */

/* The document with the first `from` replaced is refused, because of `where`. */
void expect_refused(std::string document, const std::string &from, const std::string &to,
		    const std::string &where)
{
	const std::size_t at = document.find(from);

	ASSERT_NE(at, std::string::npos) << from;
	const result got = validate(document.replace(at, from.size(), to));

	EXPECT_EQ(got.status, 1) << got.err;
	EXPECT_TRUE(contains(got.out, where)) << got.out;
}

TEST_F(JsonSchemaTest, RefusesWhatIsOfAnotherType)
{
	server process;
	const std::string document = output_of({"--json"});

	expect_refused(document, "\"object_size\": 712", "\"object_size\": \"712\"",
		       "].object_size");
	expect_refused(document, "\"debug_flags\": \"-\"", "\"debug_flags\": \"X\"",
		       "$.caches[0].debug_flags");
	expect_refused(document, "\"arrays_closed\": 0", "\"arrays_closed\": -1",
		       "$.caches[0].events.arrays_closed");
	expect_refused(document, "\"ok\": true", "\"ok\": 1", "$.ok");
}

TEST_F(JsonSchemaTest, RefusesWhatIsIncomplete)
{
	server process;
	const std::string document = output_of({"--json"});

	expect_refused(document, "\"counted_us\"", "\"counted\"", "$.caches[0]");
	expect_refused(document, "\"engine\"", "\"motor\"", "$.process");
	expect_refused(document, "\"caches\"", "\"cash\"", "$");
}

TEST_F(JsonSchemaTest, DescribesEveryMemberAndAllowsMore)
{
	server process;
	std::string document = output_of({"--json"});

	document.replace(document.find("\"limit\""), 0, "\"colour\": \"green\", ");
	EXPECT_EQ(validate(document).status, 1);
	EXPECT_EQ(validate(document, "open").status, 0);
}

} /* namespace */
