/* SPDX-License-Identifier: MIT */
/* Processes that slabinfo --top shows in tests, and the fixture of these tests. */
#pragma once

#include "scripted_process.h"
#include "terminal.h"

struct numbers {
	const char *name;
	unsigned size, slabs, empty, partial, objects, errors;
	const char *debug_flags;
};

/* Slabs of 16384 bytes. CPUs hold as many objects as the empty slabs have room for. */
inline std::string cache(const numbers &of, std::uint64_t counted, std::uint64_t counted_us)
{
	std::ostringstream text;

	text << "{\"name\":\"" << of.name << "\",\"object_size\":" << of.size
	     << ",\"slab_size\":" << of.size
	     << ",\"order\":2,\"objects_per_slab\":" << 16384 / of.size << ",\"slabs\":" << of.slabs
	     << ",\"slab_bytes\":" << 16384 * of.slabs
	     << ",\"cpu_objects\":" << 16384 / of.size * of.empty << ",\"partial\":" << of.partial
	     << ",\"full\":" << of.slabs - of.empty - of.partial << ",\"empty\":" << of.empty
	     << ",\"objects\":" << of.objects << ",\"total_objects\":" << 16384 / of.size * of.slabs
	     << ",\"errors\":" << of.errors << ",\"debug_flags\":\"" << of.debug_flags
	     << "\",\"counted\":" << counted << ",\"counted_us\":" << counted_us
	     << ",\"events\":{\"alloc_slowpath\":7,\"free_slowpath\":5}}";
	return text.str();
}

inline const numbers alpha = {"alpha", 128, 10, 3, 2, 960, 0, "-"};
inline const numbers beta = {"beta", 1024, 40, 1, 30, 64, 0, "-"};
inline const numbers gamma_cache = {"gamma", 4096, 1, 0, 0, 4, 0, "-"};
inline const numbers none = {"none", 64, 0, 0, 0, 0, 0, "-"};

inline std::uint64_t now_us()
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return static_cast<std::uint64_t>(now.tv_sec) * 1000000 +
	       static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

/* alpha allocates 2000000 objects in a second, beta none; all the time is counted but that
 * before the first answer. */
inline std::string stats(const std::vector<numbers> &caches, unsigned asked)
{
	const std::uint64_t us = asked ? now_us() : 0;
	std::string text = "{\"slab\":2,\"ok\":true,\"process\":{\"engine\":\"rseq\","
			   "\"uptime\":93600,\"slab_bytes\":835584,\"cached_bytes\":65536,"
			   "\"large_bytes\":0},\"caches\":[";

	for (const numbers &of : caches) {
		const std::uint64_t counted = of.name == std::string("alpha") ? 2 * us : 0;

		text += (&of == &caches[0] ? "" : ",") + cache(of, counted, us);
	}
	return text + "]}";
}

inline std::string refusal(const std::string &message)
{
	return "{\"slab\":2,\"ok\":false,\"error\":\"" + message + "\"}";
}

inline const char slabs_of_all_states[] =
	"{\"slab\":2,\"ok\":true,\"name\":\"alpha\",\"total\":8,\"columns\":"
	"[\"address\",\"used\",\"room\",\"state\",\"node\",\"debug_flags\"],\"slabs\":["
	"[65536,1,128,\"partial\",0,\"-\"],[81920,0,128,\"empty\",0,\"-\"],"
	"[98304,127,128,\"partial\",0,\"-\"],[114688,64,128,\"partial\",0,\"-\"],"
	"[131072,128,128,\"full\",0,\"-\"],[147456,90,120,\"debug\",0,\"ZP\"],"
	"[163840,2,120,\"legacy\",0,\"F\"],[180224,1,1,\"guarded\",0,\"-\"]]}";

inline std::string say_all(const std::string &request, unsigned asked)
{
	if (request == "stats")
		return stats({alpha, beta, gamma_cache, none}, asked);
	if (request == "slabs alpha")
		return slabs_of_all_states;
	if (request.compare(0, 6, "count ") == 0)
		return "{\"slab\":2,\"ok\":true,\"counting\":" + request.substr(6) + "}";
	return refusal("there is no such request");
}

/* Counts nothing and has no "slabs", as an older library. */
inline std::string say_little(const std::string &request, unsigned)
{
	return request == "stats" ? stats({alpha, beta}, 0) : refusal("there is no such request");
}

inline std::string say_trouble(const std::string &request, unsigned asked)
{
	const numbers broken = {"broken", 128, 10, 3, 2, 960, 12, "FZPU"};

	return request == "stats" ? stats({alpha, broken}, asked) : refusal("no");
}

inline std::string say_slowly(const std::string &request, unsigned asked)
{
	usleep(50000);
	return say_all(request, asked);
}

inline std::string say_many_slabs(const std::string &request, unsigned asked)
{
	std::string text;

	if (request != "slabs alpha")
		return say_all(request, asked);
	text = "{\"slab\":2,\"ok\":true,\"name\":\"alpha\",\"bytes\":16384,\"total\":9000,"
	       "\"columns\":[\"address\",\"used\",\"room\",\"state\",\"node\",\"debug_flags\"],"
	       "\"slabs\":[";
	for (unsigned i = 0; i < 8000; i++)
		text += (i ? ",[" : "[") + std::to_string(65536 + i * 16384) +
			",128,128,\"full\",0,\"-\"]";
	return text + "]}";
}

class TopTest : public testing::Test
{
protected:
	std::string command(pid_t pid, const std::string &words = "--top=0.1") const
	{
		return std::string(SLABINFO) + " -p " + std::to_string(pid) + " " + words;
	}

	runtime_dir dir;
};

/* The first words of the rows below the titles. */
inline std::vector<std::string> names_on(const std::string &screen)
{
	const std::vector<std::string> lines = lines_of(screen);
	std::vector<std::string> names;

	for (std::size_t i = 4; i < lines.size() && !lines[i].empty() && lines[i][0] != 'q'; i++)
		names.push_back(words_of(lines[i]).at(0));
	return names;
}
