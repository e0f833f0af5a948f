/* SPDX-License-Identifier: MIT */
/*
 * The LDIF reader of ldapd and of the example directory. What it reads lies within its record, and
 * is read the same once ldapload has written it. The first byte of an input is the policy.
 */
#include "input.h"

#include <cstring>
#include <utility>
#include <vector>

#include <sys/mman.h>

extern "C" {
#include "args.h"
#include "source.h"
}

using namespace slab_fuzz;

namespace
{

struct entry {
	std::string dn;
	std::vector<std::pair<std::string, std::string>> values;

	bool operator==(const entry &other) const
	{
		return dn == other.dn && values == other.values;
	}
};

/* A file in memory, which the reader opens by its path. */
class file
{
public:
	explicit file(const std::string &content) : fd_(memfd_create("ldif", MFD_CLOEXEC))
	{
		FUZZ_CHECK(fd_ >= 0);
		FUZZ_CHECK(write(fd_, content.data(), content.size()) ==
			   static_cast<ssize_t>(content.size()));
		path_ = "/proc/self/fd/" + std::to_string(fd_);
	}

	~file() { close(fd_); }

	const char *path() const { return path_.c_str(); }

private:
	const int fd_;
	std::string path_;
};

void check_inside(const struct record &record, std::size_t at, std::size_t length)
{
	FUZZ_CHECK(at <= record.length && length <= record.length - at);
}

entry copied(const struct record &record)
{
	entry e;

	check_inside(record, record.dn, record.dn_length);
	e.dn.assign(record_dn(&record), record.dn_length);
	for (std::size_t i = 0; i < record.count; i++) {
		const struct pair &p = record.pairs[i];

		check_inside(record, p.type, p.type_length);
		check_inside(record, p.value, p.value_length);
		e.values.emplace_back(std::string(record_type(&record, i), p.type_length),
				      std::string(record_value(&record, i), p.value_length));
	}
	return e;
}

std::vector<entry> read_all(const std::string &content, bool unlimited, std::size_t *ret_bad)
{
	const file content_file(content);
	struct source source = {};
	struct record record = {};
	std::vector<entry> entries;
	enum source_status status;

	FUZZ_CHECK(source_try_open(&source, content_file.path()));
	source.unlimited = unlimited;
	while ((status = source_next(&source, &record)) == SOURCE_RECORD)
		entries.push_back(copied(record));
	FUZZ_CHECK(status == SOURCE_END);
	*ret_bad = source.bad;
	source_close(&source);
	record_free(&record);
	return entries;
}

bool has_zero(const entry &e)
{
	bool found = false;

	for (const auto &value : e.values)
		found = found || value.second.find('\0') != std::string::npos;
	return found || e.dn.find('\0') != std::string::npos;
}

/* ldif_print() writes C strings. */
std::string written(const entry &e)
{
	char *text = nullptr;
	std::size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	ldif_print(out, "dn", e.dn.c_str());
	for (const auto &value : e.values)
		ldif_print(out, value.first.c_str(), value.second.c_str());
	std::fclose(out);
	const std::string made(text, size);
	std::free(text);
	return made;
}

} /* namespace */

int LLVMFuzzerInitialize(int *, char ***)
{
	/* What the reader says about bad lines is not looked at. */
	stderr = std::fopen("/dev/null", "we");
	return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	const unsigned how = size ? data[0] : 0;
	const std::string content(reinterpret_cast<const char *>(data) + (size > 0),
				  size - (size > 0));
	const bool unlimited = how & 2;
	std::size_t bad;

	for (const entry &e : read_all(content, unlimited, &bad)) {
		if (has_zero(e))
			continue;
		const std::vector<entry> again = read_all(written(e), unlimited, &bad);

		FUZZ_CHECK(bad == 0 && again.size() == 1 && again[0] == e);
	}
	return 0;
}
