/* SPDX-License-Identifier: MIT */
/* Inspections of this process through a reader that may change or refuse what it reads. */
#pragma once

#include <sys/uio.h>

#include <slab/inspect.h>

#include "../support/objects.h"
#include "../support/rooms.h"

/* Objects of a cache, allocated for the lifetime of this. */
class objects
{
public:
	objects(struct slab_cache *cache, std::size_t n)
		: cache_(cache), objs_(alloc_many(cache, n))
	{
	}

	~objects() { free_many(cache_, objs_); }

	objects(const objects &) = delete;
	objects &operator=(const objects &) = delete;

private:
	struct slab_cache *cache_;
	std::vector<void *> objs_;
};

/* What a reader does with what it has read; false: the read fails. */
using meddling = std::function<bool(char *bytes, std::size_t size)>;

inline int read_own_memory(std::uint64_t address, std::size_t size, char *to)
{
	const struct iovec local = {to, size};
	const struct iovec remote = {reinterpret_cast<void *>(address), size};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size)
		       ? 0
		       : -EFAULT;
}

inline int read_pieces(void *arg, std::uint64_t address, std::size_t size, std::size_t stride,
		       std::size_t count, void *to)
{
	const auto &meddle = *static_cast<meddling *>(arg);
	char *at = static_cast<char *>(to);

	EXPECT_GT(size, 0u);
	EXPECT_GT(count, 0u);
	for (std::size_t i = 0; i < count; i++, address += stride, at += size) {
		if (read_own_memory(address, size, at) != 0 || !meddle(at, size))
			return -EFAULT;
	}
	return 0;
}

/* An answer and what the call returned. */
struct answered {
	int result;
	std::string text;
};

inline answered inspect(
	const std::string &request, meddling meddle = [](char *, std::size_t) { return true; },
	std::uint64_t root = reinterpret_cast<std::uint64_t>(&slab_root))
{
	struct slab_reader reader = {};
	struct slab_answer answer;

	reader.struct_size = sizeof(reader);
	reader.read = read_pieces;
	reader.arg = &meddle;
	reader.pid = 42;
	reader.command = "victim";
	reader.now_ms = track_now();

	answered all = {slab_inspect(&reader, root, request.c_str(), &answer), ""};

	if (answer.text) {
		EXPECT_EQ(std::strlen(answer.text), answer.length);
		EXPECT_EQ(answer.text[answer.length - 1], '\n');
		all.text = std::string(answer.text, answer.length - 1);
	}
	slab_answer_free(&answer);
	return all;
}

/* The object of `json` that begins with this member, up to its first list. */
inline std::string from_member(const std::string &json, const std::string &member)
{
	const std::size_t at = json.find(member);

	return at == std::string::npos ? "" : json.substr(at, json.find("\"events\"", at) - at);
}

inline std::string number(const char *key, std::uint64_t value)
{
	return "\"" + std::string(key) + "\":" + std::to_string(value) + ",";
}

inline void expect_has(const std::string &text, const std::string &part)
{
	EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
}
