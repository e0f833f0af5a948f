/* SPDX-License-Identifier: MIT */
/*
 * Requests of the control socket: protocol version 2, docs/control.md.
 *
 * A request is "slab/2 COMMAND [WORD]... [NAME]"; the answer is one JSON object on one line, behind
 * which that of "read" has bytes. A command that acts on a cache pins it (core/pin.h), so that the
 * cache is not destroyed meanwhile and no other thread has to wait for a lock.
 */
#define _GNU_SOURCE
#include "base/libc.h"
#include "control/cache_request.h"
#include "control/server.h"
#include "core/registry.h"
#include "core/root.h"
#include "memory/defrag.h"
#include "control/reply.h"

#include <errno.h>
#include <unistd.h>

static const char accepted[] =
	"ping, read ADDRESS SIZE STRIDE COUNT, shrink NAME, validate NAME, debug FLAGS NAME, mark, "
	"sample N NAME, fail SPEC, profile BYTES, set ATTRIBUTE VALUE NAME, reset NAME, trim, "
	"count US";

static void answer_ping(struct slab_json *reply, const char *rest)
{
	if (*rest) {
		slab_control_refuse(reply, "ping takes no \"%.64s\"", rest);
		return;
	}
	control_begin(reply, true);
	slab_json_number(reply, "pid", (uint64_t)getpid());
	slab_json_string(reply, "command", program_invocation_short_name);
	slab_json_string(reply, "version", SLAB_VERSION);
	slab_json_bool(reply, "has_caches", __atomic_load_n(&registry_count, __ATOMIC_RELAXED));
	slab_json_number(reply, "root", (uintptr_t)&slab_root);
	control_end(reply);
}

static long validate(struct slab_cache *cache, void *ret_problems)
{
	return *(long *)ret_problems = slab_cache_validate(cache);
}

/* Answer with the number that `act` stores; `counted` is the name of that member. */
static void answer_count(struct slab_json *reply, const char *command, const char *name,
			 long (*act)(struct slab_cache *cache, void *arg), const char *counted)
{
	long count = 0;

	if (!*name) {
		slab_control_refuse(reply, "%s needs the name of a cache", command);
	} else if (control_on_cache(reply, command, name, act, &count)) {
		control_begin(reply, true);
		slab_json_string(reply, "name", name);
		slab_json_number(reply, counted, (uint64_t)count);
		control_end(reply);
	}
}

/* Defragment first, if the cache has movable objects and no other thread is defragmenting it. */
static void put_shrunk(struct slab_json *reply, const char *name, struct slab_cache *cache)
{
	unsigned slabs = 0;
	long moved = defrag_cache(cache, &slabs);

	slabs += (unsigned)slab_cache_shrink(cache);
	control_begin(reply, true);
	slab_json_string(reply, "name", name);
	slab_json_number(reply, "slabs", slabs);
	slab_json_number(reply, "moved", moved < 0 ? 0 : (uint64_t)moved);
	control_end(reply);
}

static void answer_shrink(struct slab_json *reply, const char *name)
{
	struct slab_cache *cache;
	struct pin pin;

	if (!*name) {
		slab_control_refuse(reply, "shrink needs the name of a cache");
		return;
	}
	cache = control_find(reply, name, &pin);
	if (!cache)
		return;
	put_shrunk(reply, name, cache);
	cache_unpin(&pin);
}

static void answer_validate(struct slab_json *reply, const char *rest)
{
	answer_count(reply, "validate", rest, validate, "problems");
}

static const struct {
	const char *word;
	void (*answer)(struct slab_json *reply, const char *rest);
} commands[] = {
	{"ping", answer_ping},
	{"read", control_answer_read},
	{"shrink", answer_shrink},
	{"validate", answer_validate},
	{"debug", control_answer_debug},
	{"mark", control_answer_mark},
	{"sample", control_answer_sample},
	{"fail", control_answer_fail},
	{"set", control_answer_set},
	{"reset", control_answer_reset},
	{"trim", control_answer_trim},
	{"count", control_answer_count},
	{"profile", control_answer_profile},
};

/* The part of `text` behind `word` and blanks; NULL: the text does not start with that word. */
static const char *after_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(text, word, len) != 0 || (text[len] && text[len] != ' '))
		return NULL;
	return text + len + strspn(text + len, " ");
}

static void answer_command(struct slab_json *reply, const char *command)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		const char *rest = after_word(command, commands[i].word);

		if (rest) {
			commands[i].answer(reply, rest);
			return;
		}
	}
	slab_control_refuse(reply, "request \"%.64s\" is not known; accepted: %s", command,
			    accepted);
}

bool slab_control_answer(struct slab_json *reply, const char *request, bool has_rights)
{
	const char *command = after_word(request, "slab/2");

	control_set_rights(has_rights);
	if (command)
		answer_command(reply, command);
	else
		slab_control_refuse(reply, "a request is one line, \"slab/2\" and one of %s",
				    accepted);
	return command && after_word(command, "read");
}
