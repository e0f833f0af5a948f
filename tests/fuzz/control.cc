/* SPDX-License-Identifier: MIT */
/*
 * The control socket of this process, served in its own loop. Each line of an input is what one
 * client sends: in as many pieces as a digit at its beginning says; after "!" the client leaves
 * before it is answered. Every other client gets one line of JSON, and the caches stay whole.
 */
#include "../support/test.h"
#include "blocks.h"
#include "process.h"

#include <json-c/json.h>
#include <slab/control.h>

using namespace slab_fuzz;

namespace
{

/* One line, which is an answer of the protocol. */
bool is_answer(const std::string &text)
{
	struct json_tokener *tokener = json_tokener_new();
	bool good = !text.empty() && text.find('\n') == text.size() - 1;

	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	struct json_object *document =
		json_tokener_parse_ex(tokener, text.data(), static_cast<int>(text.size()));
	json_tokener_free(tokener);

	struct json_object *version, *ok, *error;

	good = good && json_object_object_get_ex(document, "slab", &version) &&
	       json_object_get_int(version) == 2 && json_object_object_get_ex(document, "ok", &ok);
	if (good && !json_object_get_boolean(ok))
		good = json_object_object_get_ex(document, "error", &error) &&
		       json_object_is_type(error, json_type_string);
	json_object_put(document);
	return good;
}

constexpr unsigned lines_max = 20, objects = 50;
constexpr std::size_t object_size = 100;

bool leaks_expected;
struct slab_cache *caches[2];
blocks live[2];
char folder[] = "/tmp/slab-fuzz-XXXXXX";

/* A connection, which the server answers when it is asked to. */
class connection
{
public:
	connection() : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))
	{
		struct sockaddr_un address = {};

		address.sun_family = AF_UNIX;
		std::snprintf(address.sun_path, sizeof(address.sun_path), "%s/slab/%d.sock", folder,
			      getpid());
		FUZZ_CHECK(connect(fd_, reinterpret_cast<struct sockaddr *>(&address),
				   sizeof(address)) == 0);
		serve();
	}

	~connection()
	{
		close(fd_);
		serve();
	}

	/* The server may have closed its end: it has read enough. */
	void send(const std::string &text)
	{
		::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
		serve();
	}

	std::string answer()
	{
		std::string text;
		char part[4096];

		shutdown(fd_, SHUT_WR);
		for (;;) {
			serve();
			const ssize_t n = recv(fd_, part, sizeof(part), 0);

			if (n <= 0)
				return text;
			text.append(part, static_cast<std::size_t>(n));
		}
	}

private:
	static void serve() { FUZZ_CHECK(slab_control_dispatch() >= 0); }

	const int fd_;
};

void ask(const std::string &line)
{
	const bool leaves = line[0] == '!';
	const unsigned pieces = line[0] >= '2' && line[0] <= '9' ? unsigned(line[0] - '0') : 1;
	const std::string text = (leaves || pieces > 1 ? line.substr(1) : line) + "\n";
	connection one;

	for (unsigned i = 0; i < pieces; i++) {
		const std::size_t from = text.size() * i / pieces;

		one.send(text.substr(from, text.size() * (i + 1) / pieces - from));
	}
	if (!leaves)
		FUZZ_CHECK(is_answer(one.answer()));
}

void create_caches()
{
	static const char *const names[] = {"entry", "pblock"};

	for (int i = 0; i < 2; i++) {
		caches[i] = slab_cache_create(names[i], object_size, nullptr, 0);
		FUZZ_CHECK(caches[i]);
	}
}

/* Objects of before and of after the requests. */
void use_caches()
{
	for (int i = 0; i < 2; i++) {
		for (unsigned n = 0; n < objects; n++) {
			void *obj = slab_alloc(caches[i]);

			if (obj)
				live[i].add(obj, object_size);
		}
		while (live[i].size() > objects / 2)
			slab_free(caches[i], live[i].take(0).at);
	}
}

/* What requests switched on is switched off again. */
void undo()
{
	FUZZ_CHECK(slab_set_fail(nullptr) == 0 && slab_set_profile(0) == 0);
	for (int i = 0; i < 2; i++) {
		FUZZ_CHECK(slab_cache_debug(caches[i], 0) == 0);
		FUZZ_CHECK(slab_cache_sample(caches[i], 0) == 0);
		FUZZ_CHECK(slab_stat_write(caches[i], "limit", 0) == 0);
		FUZZ_CHECK(slab_cache_validate(caches[i]) == 0);
		live[i].check_all();
		while (live[i].size())
			slab_free(caches[i], live[i].take(0).at);
	}
}

} /* namespace */

int LLVMFuzzerInitialize(int *, char ***)
{
	calm_process();
	setenv("SLAB_CONTROL", "on", 1);
	setenv("SLAB_LOG", "/dev/null", 1);
	FUZZ_CHECK(mkdtemp(folder));
	setenv("SLAB_RUNTIME_DIR", folder, 1);
	std::atexit([] {
		const std::string slab = std::string(folder) + "/slab";

		/* libslab removes its socket later, and then the folder would be left. */
		unlink((slab + "/" + std::to_string(getpid()) + ".sock").c_str());
		rmdir(slab.c_str());
		rmdir(folder);
	});
	FUZZ_CHECK(slab_control_fd() >= 0);
	refuse_reports(&leaks_expected);
	create_caches();
	return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	std::string text(reinterpret_cast<const char *>(data), size);

	use_caches();
	for (unsigned n = 0; n < lines_max && !text.empty(); n++) {
		const std::size_t end = std::min(text.find('\n'), text.size());

		if (end)
			ask(text.substr(0, end));
		text.erase(0, end + 1);
	}
	use_caches();
	undo();
	return 0;
}
