/* SPDX-License-Identifier: MIT */
/* The entry cache's numbers as others see them: libslab by their names, and slabinfo. */
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <json-c/json.h>
#include <unistd.h>

#include "../support/folder.h"
#include "entry_caches.h"

using namespace dirsrv_test;

namespace
{

/* The process's control socket, which is opened with its first cache. */
class RuntimeDir : public testing::Environment
{
public:
	void SetUp() override
	{
		folder_.emplace();
		setenv("SLAB_RUNTIME_DIR", folder_->path.c_str(), 1);
	}

	void TearDown() override
	{
		folder_.reset();
	}

private:
	std::optional<slab_test::folder> folder_;
};

testing::Environment *const runtime_dir = testing::AddGlobalTestEnvironment(new RuntimeDir);

/* What slabinfo shows of this process's cache of entries. */
std::string slabinfo(const std::string &options)
{
	const std::string command =
		SLABINFO " --pid " + std::to_string(getpid()) + " " + options + " test.entry";
	FILE *pipe = popen(command.c_str(), "r");
	char buffer[4096];
	std::string text;
	std::size_t n;

	while ((n = fread(buffer, 1, sizeof(buffer), pipe)) > 0)
		text.append(buffer, n);
	EXPECT_EQ(pclose(pipe), 0) << command;
	return text;
}

std::map<std::string, std::uint64_t> counters_of(const std::string &json)
{
	struct json_object *document = json_tokener_parse(json.c_str()), *list = nullptr;
	std::map<std::string, std::uint64_t> numbers;

	json_object_object_get_ex(document, "caches", &list);
	json_object_object_get_ex(json_object_array_get_idx(list, 0), "counters", &list);
	for (std::size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *one = json_object_array_get_idx(list, i), *name, *value;

		json_object_object_get_ex(one, "name", &name);
		json_object_object_get_ex(one, "value", &value);
		numbers[json_object_get_string(name)] = json_object_get_uint64(value);
	}
	json_object_put(document);
	return numbers;
}

class EntryCacheShownTest : public EntryCacheTest
{
protected:
	/* Something of each kind. */
	void work()
	{
		create(8 * size_of(0));
		for (unsigned i = 0; i < 20; i++)
			fetch(i);
		for (unsigned i = 0; i < 5; i++)
			look(19);
		EXPECT_TRUE(remove(19));
	}

	/* What the cache itself counts, by the names that are attached. */
	std::map<std::string, std::uint64_t> own()
	{
		std::map<std::string, std::uint64_t> numbers;
		const char *name;

		for (unsigned i = 0; (name = dirsrv_entry_cache_stat_name(i)); i++)
			EXPECT_EQ(dirsrv_entry_cache_stat_read(
					  cache, name, &numbers["cache_" + std::string(name)]),
				  0);
		return numbers;
	}
};

TEST_F(EntryCacheShownTest, LibslabHasEachNumberByItsName)
{
	work();
	ASSERT_EQ(dirsrv_entry_pool_barrier(pool), 0);
	for (const auto &[name, value] : own())
		EXPECT_EQ(stat("test.entry", name.c_str()), value) << name;
	EXPECT_EQ(stat("test.entry", "cache_hits"), 5u);
	EXPECT_EQ(stat("test.entry", "cache_misses"), 20u);
}

TEST_F(EntryCacheShownTest, SlabinfoShowsEachNumber)
{
	work();
	ASSERT_EQ(dirsrv_entry_pool_barrier(pool), 0);
	const auto shown = counters_of(slabinfo("--json"));

	EXPECT_EQ(shown, own());
	EXPECT_EQ(shown.at("cache_hits"), 5u);
}

TEST_F(EntryCacheShownTest, TheyAreGoneWithTheCache)
{
	work();
	ASSERT_EQ(dirsrv_entry_cache_destroy(cache, nullptr, nullptr), 0);
	EXPECT_TRUE(counters_of(slabinfo("--json")).empty());
	create(0);
	EXPECT_EQ(counters_of(slabinfo("--json")).at("cache_hits"), 0u);
}

/* Every caller reaches them by its handle. */
class EntryCacheDetachedTest : public EntryCacheTest
{
protected:
	static void attach(const struct slab_counter *counters, unsigned n)
	{
		ASSERT_EQ(slab_cache_attach_counters(cache_called("test.entry"), counters, n), 0);
	}

	static void attach_other()
	{
		static const std::uint64_t word = 7;
		struct slab_counter other = {};

		other.name = "other";
		other.value = &word;
		attach(&other, 1);
	}
};

TEST_F(EntryCacheDetachedTest, APoolStillHasOneCache)
{
	create(0);
	attach(nullptr, 0);
	errno = 0;
	EXPECT_EQ(dirsrv_entry_cache_create(pool, 0, 0), nullptr);
	EXPECT_EQ(errno, EBUSY);
	EXPECT_EQ(dirsrv_entry_pool_destroy(pool), -EBUSY);
}

TEST_F(EntryCacheDetachedTest, WhereOthersAreAttachedACacheIsNotShownAndWorks)
{
	attach_other();
	create(0);
	fetch(1);
	look(1);
	EXPECT_TRUE(remove(1));
	EXPECT_EQ(stat("test.entry", "other"), 7u);
	ASSERT_EQ(dirsrv_entry_cache_destroy(cache, nullptr, nullptr), 0);
	cache = nullptr;
	EXPECT_EQ(stat("test.entry", "other"), 7u);
	attach(nullptr, 0);
}

} // namespace
