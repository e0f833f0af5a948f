/* SPDX-License-Identifier: MIT */
/* Counters of the test's own, attached to a cache, and how they are seen from outside. */
#ifndef TESTS_SUPPORT_ATTACHED_H
#define TESTS_SUPPORT_ATTACHED_H

#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>

#include <slab/inspect.h>
#include <slab/stats.h>

#include "objects.h"

extern "C" {
#include "inspect/counters.h"
#include "inspect/root.h"
}

namespace slab_test
{

inline std::uint64_t words[8];

inline struct slab_counter counter(const char *name, const std::uint64_t *value = words,
				   enum slab_counter_kind kind = SLAB_COUNTER_EVENTS)
{
	struct slab_counter made = {};

	made.name = name;
	made.value = value;
	made.kind = kind;
	return made;
}

inline int attach(struct slab_cache *cache, const std::vector<struct slab_counter> &counters)
{
	return slab_cache_attach_counters(cache, counters.data(),
					  static_cast<unsigned>(counters.size()));
}

/* -errno where there is none. */
inline std::int64_t read_stat(struct slab_cache *cache, const char *name)
{
	std::uint64_t value = 0;
	const int error = slab_stat_read(cache, name, &value);

	return error ? error : static_cast<std::int64_t>(value);
}

/* --- through a reader ------------------------------------------------------------------ */

inline int read_piece(std::uint64_t address, std::size_t size, char *to)
{
	const struct iovec local = {to, size};
	const struct iovec remote = {reinterpret_cast<void *>(address), size};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size)
		       ? 0
		       : -EFAULT;
}

/* Called whenever the word at this address is read. */
struct meanwhile {
	const std::uint64_t *word;
	std::function<void()> happens;
};

inline int read_pieces(void *arg, std::uint64_t address, std::size_t size, std::size_t stride,
		       std::size_t count, void *to)
{
	auto *meanwhile = static_cast<struct meanwhile *>(arg);
	char *at = static_cast<char *>(to);
	int error = 0;

	if (meanwhile && address == reinterpret_cast<std::uint64_t>(meanwhile->word))
		meanwhile->happens();
	if (stride == size)
		return read_piece(address, size * count, at);
	for (std::size_t i = 0; i < count && !error; i++)
		error = read_piece(address + i * stride, size, at + i * size);
	return error;
}

inline std::string stats_from_outside(struct meanwhile *meanwhile = nullptr)
{
	struct slab_reader reader = {};
	struct slab_answer answer;

	reader.struct_size = sizeof(reader);
	reader.read = read_pieces;
	reader.arg = meanwhile;
	EXPECT_EQ(slab_inspect(&reader, reinterpret_cast<std::uint64_t>(&slab_root), "stats",
			       &answer),
		  0);
	const std::string text = answer.text ? answer.text : "";

	slab_answer_free(&answer);
	return text;
}

/* The counters of this cache as a process that reads our memory sees them. */
inline std::string counters_in(const std::string &text, const std::string &cache)
{
	const std::size_t at = text.find("\"counters\":", text.find("\"name\":\"" + cache + "\""));

	return at == std::string::npos ? "" : text.substr(at, text.find(']', at) + 1 - at);
}

inline std::string from_outside(const std::string &cache)
{
	return counters_in(stats_from_outside(), cache);
}

inline struct counter_table *table_of(struct slab_cache *cache)
{
	return cache->counters;
}

/* As many words as a cache can have, nearly, in counters of many sizes. Only "a" begins where
 * it does. */
inline std::vector<struct slab_counter> large_counters()
{
	static const std::vector<std::uint64_t> many(COUNTER_COPIES_MAX + 1, 1);
	static const std::vector<std::pair<const char *, unsigned>> sizes = {
		{"a", 8192}, {"b", 8192}, {"c", 8192}, {"d", 8192}, {"e", 8192},
		{"f", 8192}, {"g", 8192}, {"h", 4096}, {"i", 2048}, {"j", 1024},
		{"k", 512},  {"l", 256},  {"m", 128},  {"n", 80},
	};
	std::vector<struct slab_counter> counters;

	for (const auto &[name, copies] : sizes) {
		counters.push_back(counter(name, many.data() + !counters.empty()));
		counters.back().copies = copies;
		counters.back().stride = sizeof(many[0]);
	}
	return counters;
}

class CountersTest : public testing::Test
{
protected:
	CountersTest()
	{
		std::memset(words, 0, sizeof(words));
	}

	test_cache cache{64};
};

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_ATTACHED_H */
