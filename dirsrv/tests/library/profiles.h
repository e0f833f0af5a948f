/* SPDX-License-Identifier: MIT */
/* What the tests of recording share: a directory to write in, and profiles read. */
#ifndef TESTS_DIRSRV_PROFILES_H
#define TESTS_DIRSRV_PROFILES_H

#include "../../../tests/support/server.h"

#include <cstdint>
#include <map>

#include <slab/debug.h>
#include <slab/dirsrv/pblock.h>
#include <slab/dirsrv/profile.h>

extern "C" {
#include "profile/record.h"
}

namespace slab_test
{

/* Gets and sets of each parameter. */
using uses = std::map<int, std::pair<std::uint64_t, std::uint64_t>>;

struct kind_of_life {
	std::uint64_t pblocks;
	bool whole;
	uses parameters;
};

struct profile {
	std::uint64_t pblocks = 0, earlier = 0, alive = 0;
	std::uint64_t dropped_pblocks = 0, dropped_accesses = 0;
	uses parameters;
	std::vector<kind_of_life> kinds;
};

inline json_object *json_member(json_object *of, const char *name)
{
	json_object *value = nullptr;

	EXPECT_TRUE(json_object_object_get_ex(of, name, &value)) << name;
	return value;
}

inline std::uint64_t json_count(json_object *of, const char *name)
{
	return static_cast<std::uint64_t>(json_object_get_int64(json_member(of, name)));
}

inline uses json_uses(json_object *of)
{
	json_object *list = json_member(of, "parameters");
	uses all;

	for (std::size_t i = 0; i < json_object_array_length(list); i++) {
		json_object *use = json_object_array_get_idx(list, i);

		all[static_cast<int>(json_count(use, "parameter"))] = {json_count(use, "gets"),
								       json_count(use, "sets")};
	}
	return all;
}

inline profile read_profile(const std::string &path)
{
	json_object *document = json_object_from_file(path.c_str());
	profile read;

	EXPECT_NE(document, nullptr) << path;
	if (!document)
		return read;
	EXPECT_EQ(json_count(document, "pblock_profile"), 1U);
	read.pblocks = json_count(document, "pblocks");
	read.earlier = json_count(document, "earlier");
	read.alive = json_count(document, "alive");
	read.dropped_pblocks = json_count(document, "dropped_pblocks");
	read.dropped_accesses = json_count(document, "dropped_accesses");
	read.parameters = json_uses(document);
	json_object *kinds = json_member(document, "kinds");

	for (std::size_t i = 0; i < json_object_array_length(kinds); i++) {
		json_object *kind = json_object_array_get_idx(kinds, i);

		read.kinds.push_back({json_count(kind, "pblocks"),
				      bool(json_object_get_boolean(json_member(kind, "whole"))),
				      json_uses(kind)});
	}
	json_object_put(document);
	return read;
}

/* Records between start() and stop(). */
class ProfileTest : public testing::Test
{
protected:
	ProfileTest() : file(dir.path() + "/profile.json") {}

	~ProfileTest() override
	{
		slab_set_fail(nullptr);
		slab_pblock_profile_stop();
	}

	void start()
	{
		ASSERT_EQ(slab_pblock_profile_start(file.c_str()), 0);
	}

	profile stop()
	{
		EXPECT_EQ(slab_pblock_profile_stop(), 0);
		return read_profile(file);
	}

	runtime_dir dir;
	const std::string file;
};

inline void set_int(Slapi_PBlock *pblock, int parameter, int value)
{
	EXPECT_EQ(slapi_pblock_set(pblock, parameter, &value), 0);
}

inline int get_int(Slapi_PBlock *pblock, int parameter)
{
	int value = -1;

	EXPECT_EQ(slapi_pblock_get(pblock, parameter, &value), 0);
	return value;
}

/* An address that stands for a pblock: recording never looks into it. */
inline const struct slapi_pblock *stand_in(std::uintptr_t number)
{
	return reinterpret_cast<const struct slapi_pblock *>((number + 1) * 64);
}

} /* namespace slab_test */

#endif /* TESTS_DIRSRV_PROFILES_H */
