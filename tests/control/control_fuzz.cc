/* SPDX-License-Identifier: MIT */
/*
 * usage: control_fuzz [SECONDS [SEED]]
 *
 * Sends requests to a control socket that are right, nearly right, and not at all,
 * in one piece or in several, and goes away before the answer at times. Every
 * connection gets a line of JSON, or several after a "read", which keeps it open; the
 * server lives; and its caches work when what the requests switched on is switched off again. A server serves one round, whose
 * requests follow from its seed alone: the seed of a round that fails is printed,
 * and repeats it.
 */
#include "../support/answer_line.h"
#include "../support/server.h"

namespace
{

constexpr int requests_per_round = 1000;
constexpr int requests_per_check = 100;

const char *const cache_names[] = {"entry", "pblock", "empty", "first"};

class fuzzer
{
public:
	explicit fuzzer(unsigned seed) : random_(seed) {}

	unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }

	/* What is sent on one connection. */
	std::string request()
	{
		std::string text = "slab/2 " + command() + "\n";

		switch (below(8)) {
		case 0:
			return bytes(below(200));
		case 1:
			return "slab/2 " + bytes(below(200));
		case 2:
			return text.substr(0, 7) + std::string(below(9000), 'x') + "\n";
		case 3:
		case 4:
			for (unsigned n = 1 + below(4); n; n--)
				mutate(text);
			return text;
		default:
			return text;
		}
	}

private:
	template <std::size_t n> std::string one_of(const char *const (&words)[n])
	{
		return words[below(n)];
	}

	std::string bytes(unsigned n)
	{
		std::string text;

		while (n--)
			text += static_cast<char>(below(256));
		return text;
	}

	std::string name() { return below(10) ? one_of(cache_names) : bytes(below(80)); }

	std::string number()
	{
		static const char *const interesting[] = {"0",
							  "1",
							  "2",
							  "100",
							  "1000",
							  "65535",
							  "65536",
							  "1000000",
							  "32767",
							  "-1",
							  "4294967295",
							  "9223372036854775807",
							  "1e3",
							  "0x10",
							  " 7",
							  "4294967296",
							  "18446744073709551616"};

		return below(4) ? one_of(interesting) : std::to_string(random_());
	}

	std::string debug_flags()
	{
		static const char all[] = "FZPUTAfzputa-";
		std::string text;

		for (unsigned n = below(8); n; n--)
			text += all[below(sizeof(all) - 1)];
		return text.empty() ? "-" : text;
	}

	std::string spec()
	{
		switch (below(5)) {
		case 0:
			return "-";
		case 1:
			return "probability=" + number() + ",times=" + number();
		case 2:
			return "interval=" + number() + ",cache=" + name();
		case 3:
			return "probability=100";
		default:
			return "interval=1,,times=-1,cache=*," + number();
		}
	}

	std::string command()
	{
		static const char *const attributes[] = {
			"min_partial", "limit", "sample", "alloc_slab", "objects", "name", ""};
		static const char *const plain[] = {"ping", "mark", "trim"};
		static const char *const on_cache[] = {"shrink", "validate", "reset"};

		switch (below(12)) {
		case 0:
		case 1:
			return one_of(plain);
		case 2:
		case 3:
			return one_of(on_cache) + " " + name();
		case 4:
		case 5:
			return "debug " + debug_flags() + " " + name();
		case 6:
			return "read " + number() + " " + number() + " " + number() + " " +
			       number();
		case 7:
			return "sample " + number() + " " + name();
		case 8:
			return "fail " + spec();
		case 9:
			return "count " + number();
		default:
			return "set " + one_of(attributes) + " " + number() + " " + name();
		}
	}

	void mutate(std::string &text)
	{
		const unsigned at = text.empty() ? 0 : below(static_cast<unsigned>(text.size()));

		switch (below(6)) {
		case 0:
			text.erase(at, 1 + below(5));
			break;
		case 1:
			text.insert(at, bytes(1 + below(5)));
			break;
		case 2:
			if (!text.empty())
				text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
			break;
		case 3:
			text.insert(at, text.substr(at / 2));
			break;
		case 4:
			text.insert(at, std::string(1 + below(100), ' '));
			break;
		default:
			text += command();
		}
	}

	std::mt19937 random_;
};

std::string printable(const std::string &text)
{
	std::string result;
	char code[8];

	for (unsigned char c : text.substr(0, 300)) {
		std::snprintf(code, sizeof(code), c < ' ' || c > '~' ? "\\x%02x" : "%c", c);
		result += code;
	}
	return result;
}

bool are_answers(const std::string &text)
{
	std::size_t end, from = 0;

	while ((end = text.find('\n', from)) != std::string::npos) {
		if (!is_answer(text.substr(from, end + 1 - from)))
			return false;
		from = end + 1;
	}
	return from > 0 && from == text.size();
}

/* Sends one request somehow; false: what came back is not good. */
bool send_one(fuzzer &fuzz, const std::string &path)
{
	const std::string text = fuzz.request();
	const unsigned pieces = fuzz.below(4) ? 1 : 2 + fuzz.below(4);
	const bool goes_away = fuzz.below(10) == 0;
	client one(path);
	std::string answer;

	if (!one.connected()) {
		std::printf("the server does not listen any more\n");
		return false;
	}
	for (unsigned i = 0; i < pieces; i++) {
		const std::size_t from = text.size() * i / pieces;

		one.send(text.substr(from, text.size() * (i + 1) / pieces - from));
	}
	if (goes_away)
		return true;
	one.end_requests();
	answer = one.answer();
	if (text.empty() ? answer.empty() : are_answers(answer))
		return true;
	std::printf("request \"%s\"\nanswer  \"%s\"\n", printable(text).c_str(),
		    printable(answer).c_str());
	return false;
}

bool asked(const std::string &path, const std::string &request)
{
	const std::string answer = ask(path, "slab/2 " + request + "\n");

	if (contains(answer, "\"ok\":true"))
		return true;
	std::printf("\"%s\" was answered \"%s\"\n", request.c_str(), printable(answer).c_str());
	return false;
}

/* Without what the requests did, the caches are as good as new. */
bool still_works(server &process, const std::string &path)
{
	bool good = asked(path, "fail -") && asked(path, "ping");

	for (const char *name : cache_names)
		good = good && asked(path, std::string("debug - ") + name) &&
		       asked(path, std::string("set sample 0 ") + name) &&
		       asked(path, std::string("set limit 0 ") + name);
	if (!good)
		return false;
	process.do_task('l');
	process.do_task('f');
	return process.do_task('c') == "0 failed" &&
	       contains(ask(path, "slab/2 validate entry\n"), "\"problems\":0");
}

bool run_round(const std::string &mode, unsigned seed,
	       std::chrono::steady_clock::time_point deadline, unsigned long *requests)
{
	runtime_dir dir;
	server process(mode);
	const std::string path = dir.socket(process.pid());
	fuzzer fuzz(seed);
	bool good = true;

	for (int i = 0; good && i < requests_per_round; i++, ++*requests) {
		good = send_one(fuzz, path);
		if (good && i % requests_per_check == requests_per_check - 1) {
			good = still_works(process, path);
			if (std::chrono::steady_clock::now() > deadline)
				break;
		}
	}
	if (!good && process.pid() > 0) /* it may not end by itself */
		kill(process.pid(), SIGABRT);
	process.end_input();
	if (process.wait() == 0 && good)
		return true;
	std::printf("failed: mode %s; again: control_fuzz 60 %u\n%s\n", mode.c_str(), seed,
		    process.errors().c_str());
	return false;
}

} /* namespace */

int main(int argc, char **argv)
{
	/* A reader from outside reads descriptors while threads write them, which
	 * ThreadSanitizer would report. */
	static const char *const modes[] = {"plain", "loop", "load"};
	const unsigned mode_count = under_tsan ? 2 : 3;
	const int seconds = argc > 1 ? std::atoi(argv[1]) : 2;
	const unsigned seed = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1;
	const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
	unsigned long requests = 0;
	unsigned round = 0;

	setenv("SLAB_LOG", "/dev/null", 1); /* the server's reports are not looked at */
	do {
		if (!run_round(modes[(seed + round) % mode_count], seed + round, deadline,
			       &requests))
			return 1;
		round++;
	} while (std::chrono::steady_clock::now() < deadline);
	std::printf("%lu requests in %u rounds\n", requests, round);
	return testing::UnitTest::GetInstance()->Failed();
}
