/* SPDX-License-Identifier: MIT */
/*
 * Parameters of pblocks for tests: all of them as the header documents them, and values
 * of every type that can be distinguished. The memory of pblocks, and allocations that fail.
 */
#pragma once

#include "../../../tests/support/test.h"

#include <slab/dirsrv/pblock.h>

namespace pblock_test
{

enum class kind {
	POINTER,
	INT,
	WORD,
	PRESET,
	ADDRESS,
	OWNED,
	TEXT,
	OWNED_COPY,
	TEXT_COPY,
};

struct parameter {
	int number;
	const char *name;
	enum kind kind;
	const char *group;
	int preset;
};

inline std::ostream &operator<<(std::ostream &out, const parameter &p)
{
	return out << "SLAPI_" << p.name;
}

inline const std::vector<parameter> &all_parameters()
{
	static const std::vector<parameter> all = {
#define PBLOCK_PART(part)
#define PBLOCK_END(part)
#define PBLOCK_PARAMETER(number, name, type, group, part, preset)                                  \
	{number, #name, kind::type, #group, preset},
#include "pblock/parameters.def"
#undef PBLOCK_PART
#undef PBLOCK_END
#undef PBLOCK_PARAMETER
	};
	return all;
}

inline bool is_string(const parameter &p)
{
	return p.kind == kind::OWNED || p.kind == kind::TEXT || p.kind == kind::OWNED_COPY ||
	       p.kind == kind::TEXT_COPY;
}

inline bool is_owned(const parameter &p)
{
	return p.kind == kind::OWNED || p.kind == kind::OWNED_COPY;
}

inline bool is_copied_out(const parameter &p)
{
	return p.kind == kind::OWNED_COPY || p.kind == kind::TEXT_COPY;
}

/* NULL is a value of it. */
inline bool takes_null(const parameter &p)
{
	return p.kind == kind::POINTER || is_string(p);
}

/* What the header says that a clone takes away from its source. */
inline bool moves(const parameter &p)
{
	static const std::vector<std::string> moved = {"intop", "intplugin", "mr",        "task",
						       "dse",   "misc",      "deprecated"};

	for (const std::string &group : moved)
		if (group == p.group)
			return true;
	return is_string(p);
}

/* How many bytes a get writes. */
inline std::size_t size_of(const parameter &p)
{
	if (p.kind == kind::INT || p.kind == kind::PRESET)
		return sizeof(int);
	return p.kind == kind::ADDRESS ? sizeof(struct slapi_pblock_address) : sizeof(void *);
}

/* Bytes as a get writes them; of strings their text. */
using bytes = std::string;

template <typename T> bytes bytes_of(const T &value)
{
	return bytes(reinterpret_cast<const char *>(&value), sizeof(value));
}

inline bytes default_of(const parameter &p)
{
	if (is_string(p))
		return "(null)";
	return p.kind == kind::PRESET ? bytes_of(p.preset) : bytes(size_of(p), '\0');
}

/* The seed-th value of a parameter: what a get of it writes after set_value(). */
inline bytes value_of(const parameter &p, unsigned seed)
{
	static char targets[2048 * 8];
	struct slapi_pblock_address address;

	switch (p.kind) {
	case kind::POINTER:
		return bytes_of(static_cast<void *>(&targets[p.number * 8 + seed]));
	case kind::INT:
	case kind::PRESET:
		return bytes_of(seed % 2 ? -static_cast<int>(p.number + seed)
					 : INT32_MAX - p.number);
	case kind::WORD:
		return bytes_of(UINT64_C(0xfedcba9876543210) + p.number + seed);
	case kind::ADDRESS:
		for (unsigned i = 0; i < sizeof(address.words) / sizeof(address.words[0]); i++)
			address.words[i] = UINT64_C(0x0123456789abcdef) * (p.number + seed + i);
		return bytes_of(address);
	default:
		return "text " + std::to_string(seed) + " of " + p.name;
	}
}

/* A value as slapi_pblock_set() takes it; what is not handed over is freed. */
class prepared_value
{
public:
	prepared_value(const parameter &of, const bytes &value) : p(of), copy(value)
	{
		if (is_owned(p))
			string = slab_ch_strdup(copy.c_str());
	}
	prepared_value(const parameter &of, unsigned seed) : prepared_value(of, value_of(of, seed))
	{
	}
	~prepared_value() { slab_ch_free_string(&string); }
	prepared_value(const prepared_value &) = delete;
	prepared_value &operator=(const prepared_value &) = delete;

	int set(Slapi_PBlock *pb)
	{
		void *value = string ? string : copy.data();

		if (p.kind == kind::POINTER)
			std::memcpy(&value, copy.data(), sizeof(value));

		int result = slapi_pblock_set(pb, p.number, value);

		if (!result)
			string = nullptr;
		return result;
	}

private:
	const parameter p;
	bytes copy;
	char *string = nullptr;
};

inline int set_bytes(Slapi_PBlock *pb, const parameter &p, const bytes &value)
{
	return prepared_value(p, value).set(pb);
}

inline int set_default(Slapi_PBlock *pb, const parameter &p)
{
	return is_string(p) ? slapi_pblock_set(pb, p.number, nullptr)
			    : set_bytes(pb, p, default_of(p));
}

inline int set_value(Slapi_PBlock *pb, const parameter &p, unsigned seed)
{
	return set_bytes(pb, p, value_of(p, seed));
}

/* What slapi_pblock_get() returned and wrote. */
struct got {
	int result;
	bytes value;
};

/* A get into a variable of this content, with room behind it that must stay as it is. */
inline got get_into(Slapi_PBlock *pb, const parameter &p, char fill)
{
	alignas(16) char variable[sizeof(struct slapi_pblock_address) + 16];
	std::size_t size = size_of(p);

	std::memset(variable, fill, sizeof(variable));
	got got = {slapi_pblock_get(pb, p.number, variable), bytes(variable, size)};
	for (std::size_t i = size; i < sizeof(variable); i++)
		if (variable[i] != fill)
			got.value = "wrote too much";
	if (!is_string(p))
		return got;

	char *string;

	std::memcpy(&string, variable, sizeof(string));
	if (got.value == bytes(size, fill))
		return got;
	got.value = string ? string : "(null)";
	if (is_copied_out(p))
		slab_ch_free_string(&string);
	return got;
}

/* The value of a parameter, read twice, into variables that differ in every byte. */
inline bytes get_value(Slapi_PBlock *pb, const parameter &p)
{
	got first = get_into(pb, p, '\x5a'), second = get_into(pb, p, '\xa5');

	if (first.result || second.result)
		return "get failed";
	return first.value == second.value ? first.value : "left the variable untouched";
}

/* What is allocated from caches whose names begin like this. */
struct usage {
	const char *caches;
	std::size_t objects, bytes;
};

inline usage usage_of(const char *caches)
{
	usage sum = {caches, 0, 0};

	slab_for_each_cache(
		[](struct slab_cache *cache, void *arg) {
			auto *total = static_cast<usage *>(arg);
			struct slab_stats stats = {};

			stats.struct_size = sizeof(stats);
			EXPECT_EQ(slab_cache_stats(cache, &stats), 0);
			if (!std::strncmp(stats.name, total->caches, std::strlen(total->caches))) {
				total->objects += stats.objects;
				total->bytes += stats.objects * stats.object_size;
			}
			return 0;
		},
		&sum);
	return sum;
}

/* Pblocks, their parts and their strings. */
inline std::size_t allocations()
{
	return usage_of("pblock").objects + usage_of("size-").objects;
}

/* The n-th allocation from now on fails, until the end; the first one is 1. */
class failing_allocation
{
public:
	explicit failing_allocation(unsigned n)
	{
		const std::string spec = "cache=*,times=1,interval=" + std::to_string(n);

		EXPECT_EQ(slab_set_fail(spec.c_str()), 0);
		errno = 0;
	}
	bool end(bool done)
	{
		EXPECT_EQ(errno, done ? 0 : ENOMEM);
		slab_set_fail(nullptr);
		return done;
	}
};

/* Calls the function, whose first, second, … allocation fails, until it succeeds. */
template <typename Function> void with_failing_allocations(Function function)
{
	unsigned n = 1;

	while (!function(n) && n < 100)
		n++;
	EXPECT_LT(n, 100u);
}

} // namespace pblock_test
