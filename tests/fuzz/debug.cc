/* SPDX-License-Identifier: MIT */
/*
 * What the environment says: SLAB_DEBUG, SLAB_SAMPLE and SLAB_FAIL, which second readers of tests
 * read, too; all variables at once; numbers. The first byte of an input says which; the names,
 * values and texts are separated by newlines.
 */
#include "../base/debug_lines.h"
#include "input.h"

extern "C" {
#include "base/fail.h"
#include "base/text.h"
}

using namespace slab_fuzz;
namespace
{

/* Cut off the first line. */
std::string cut_line(std::string &rest)
{
	const std::size_t end = std::min(rest.find('\n'), rest.size());
	const std::string line = rest.substr(0, end);

	rest.erase(0, end + 1);
	return line;
}

void check_complaints(int count, std::size_t most)
{
	FUZZ_CHECK(static_cast<std::size_t>(count) == complaints.size());
	FUZZ_CHECK(complaints.size() <= most);
	for (const std::string &message : complaints)
		FUZZ_CHECK(std::all_of(message.begin(), message.end(),
				       [](char c) { return c >= ' ' && c <= '~'; }));
}

void read_debug(const std::string &name, const std::string &text)
{
	const verdict v = flags_for(text, name);

	FUZZ_CHECK((v.debug_flags & ~SLAB_DEBUG_FLAGS) == 0);
	FUZZ_CHECK(v == reference(text, name));
	check_complaints(debug_text_check(exact(text).data(), complain), 2);
}

void read_sample(const std::string &name, const std::string &text)
{
	const long expected = reference_interval(text, name);

	FUZZ_CHECK(sample_text_is_good(exact(text).data()) == (expected >= 0));
	if (expected >= 0)
		FUZZ_CHECK(sample_text_interval(exact(text).data(), exact(name).data()) ==
			   static_cast<unsigned long>(expected));
}

void read_fail(const std::string &text)
{
	struct slab_fail before = {}, fail;

	before.interval = 77;
	fail = before;
	if (!fail_parse(&fail, exact(text).data())) {
		FUZZ_CHECK(is_equal(fail, before));
		return;
	}
	FUZZ_CHECK(fail.set && fail.interval >= 1 && fail.probability <= 100 && fail.times >= -1);
	FUZZ_CHECK(std::memchr(fail.names, 0, sizeof(fail.names)));
	FUZZ_CHECK((*fail.names != '\0') == (text.find("cache=") != std::string::npos));
}

std::map<std::string, std::vector<char>> environment;

char *look_up(const char *name)
{
	const auto found = environment.find(name);

	return found == environment.end() ? nullptr : found->second.data();
}

template <std::size_t n> bool is_terminated(const char (&text)[n])
{
	return std::memchr(text, 0, n) != nullptr;
}

/* Whatever the values are, the options lie within what docs/environment.md says. */
void read_environment(std::string rest)
{
	static struct slab_option_texts texts;
	struct slab_options o;

	environment.clear();
	while (!rest.empty()) {
		const std::string line = cut_line(rest);
		const std::size_t equals = std::min(line.find('='), line.size());

		environment["SLAB_" + line.substr(0, equals)] =
			exact(line.substr(std::min(equals + 1, line.size())));
	}
	check_complaints(slab_options_parse(&o, &texts, look_up, complain), 40);
	FUZZ_CHECK(o.engine <= SLAB_ENGINE_MUTEX && o.debug_abort <= 1);
	FUZZ_CHECK(o.fake_nodes <= SLAB_FAKE_NODES_MAX && o.control <= SLAB_CONTROL_ON);
	FUZZ_CHECK(o.control_signal >= 0 && o.control_signal <= 64);
	FUZZ_CHECK(o.huge <= SLAB_HUGE_NEVER && o.decay_ms >= -1);
	FUZZ_CHECK(limit_is_possible(o.limit, LIMIT_LEAST_OF_PROCESS));
	FUZZ_CHECK(is_terminated(texts.debug) && is_terminated(texts.sample));
	FUZZ_CHECK(is_terminated(texts.log) && is_terminated(o.runtime_dir));
	FUZZ_CHECK(!*o.sample || sample_text_is_good(o.sample));
	for (unsigned i = 0; const struct slab_option_info *info = slab_option_info(i); i++)
		FUZZ_CHECK(*info->name && *info->accepted && *info->fallback);
}

void read_number(const std::string &text)
{
	const bool digits =
		!text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
	char shown[24];
	long number = -7;

	errno = 0;
	const long expected = std::strtol(text.c_str(), nullptr, 10);
	const bool good = digits && errno == 0 && expected >= 5 && expected <= 1000000;

	if (option_number(exact(text).data(), text.size(), 5, 1000000, &number))
		FUZZ_CHECK(good && number == expected);
	else
		FUZZ_CHECK(!good);
	if (option_bytes(exact(text).data(), &number))
		FUZZ_CHECK(number >= 0 && option_is_numeric(exact(text).data(), true));
	option_printable(shown, sizeof(shown), text.data(), text.size());
	FUZZ_CHECK(is_terminated(shown));
}

} /* namespace */

int LLVMFuzzerInitialize(int *, char ***)
{
	return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	input in(data, size);
	const unsigned what = in.byte();
	std::string rest = in.text(SLAB_OPTION_TEXT - 1);

	complaints.clear();
	if (what == 'e') {
		read_environment(rest);
	} else if (what == 'd' || what == 's') {
		const std::string name = cut_line(rest).substr(0, SLAB_MAX_NAME);

		(what == 'd' ? read_debug : read_sample)(name, rest);
	} else if (what == 'f') {
		read_fail(rest);
	} else {
		read_number(rest);
	}
	return 0;
}
