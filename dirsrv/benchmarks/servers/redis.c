/* SPDX-License-Identifier: MIT */
/*
 * Redis's protocol (RESP 2) and a mix of its commands: strings of 16 to 1024 bytes, few of 64 KiB,
 * that are read, replaced and removed; hashes and short lists. In the middle of the mix the server
 * forks to save everything (BGSAVE).
 *
 * Phases: fill (all that the mix works on), mix.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

#define HASHES 500u
#define FIELDS 32u
#define LISTS 500u
#define LARGE ((size_t)64 << 10)

enum { GET, SET, DEL, HSET, RPUSH, LTRIM, BGSAVE };

/* --- requests --------------------------------------------------------------------------------- */

static void begin(struct session *session, unsigned words)
{
	session->out_bytes = (size_t)sprintf(session->out, "*%u\r\n", words);
}

static char *room(struct session *session, size_t bytes)
{
	char *at;

	session->out_bytes += (size_t)sprintf(session->out + session->out_bytes, "$%zu\r\n", bytes);
	at = session->out + session->out_bytes;
	at[bytes] = '\r';
	at[bytes + 1] = '\n';
	session->out_bytes += bytes + 2;
	return at;
}

static void word(struct session *session, const char *text)
{
	size_t bytes = strlen(text);

	memcpy(room(session, bytes), text, bytes);
}

static void name(struct session *session, const char *kind, unsigned n)
{
	char text[32];

	snprintf(text, sizeof(text), "%s:%u", kind, n);
	word(session, text);
}

/* Each power of two from 16 to 512 is as frequent as another. */
static void value(struct session *session)
{
	uint64_t random = load_random();
	size_t bytes = (size_t)16 << random % 6;

	bytes += (random >> 8) % bytes;
	if ((random >> 40) % 1000 == 0)
		bytes = LARGE;
	memset(room(session, bytes), 'v', bytes);
}

static void set(struct session *session, unsigned key)
{
	begin(session, 3);
	word(session, "SET");
	name(session, "key", key);
	value(session);
	session->operation = SET;
}

static void on_key(struct session *session, const char *command, unsigned operation)
{
	begin(session, 2);
	word(session, command);
	name(session, "key", load_below(load.entries));
	session->operation = operation;
}

static void hash(struct session *session, unsigned n, unsigned field)
{
	begin(session, 4);
	word(session, "HSET");
	name(session, "hash", n);
	name(session, "field", field);
	value(session);
	session->operation = HSET;
}

static void push(struct session *session, unsigned list)
{
	begin(session, 3);
	word(session, "RPUSH");
	name(session, "list", list);
	value(session);
	session->operation = RPUSH;
}

static void trim(struct session *session)
{
	begin(session, 4);
	word(session, "LTRIM");
	name(session, "list", load_below(LISTS));
	word(session, "-50");
	word(session, "-1");
	session->operation = LTRIM;
}

static void save(struct session *session)
{
	begin(session, 1);
	word(session, "BGSAVE");
	session->operation = BGSAVE;
}

/* Keys, then the fields of hashes, then lists of the length to which the mix trims them. */
static void fill(struct session *session, unsigned n)
{
	if (n < load.entries)
		set(session, n);
	else if (n - load.entries < HASHES * FIELDS)
		hash(session, (n - load.entries) / FIELDS, n % FIELDS);
	else
		push(session, n % LISTS);
}

static void request(struct session *session)
{
	unsigned share = load_below(100);

	if (strcmp(load.phase, "fill") == 0)
		fill(session, (unsigned)load.sent - 1);
	else if (load.sent == load.operations / 2)
		save(session);
	else if (share < 50)
		on_key(session, "GET", GET);
	else if (share < 76)
		set(session, load_below(load.entries));
	else if (share < 84)
		on_key(session, "DEL", DEL);
	else if (share < 93)
		hash(session, load_below(HASHES), load_below(FIELDS));
	else if (share < 98)
		push(session, load_below(LISTS));
	else
		trim(session);
}

/* --- answers ---------------------------------------------------------------------------------- */

static size_t answer(struct session *session, bool *done)
{
	char *end = memchr(session->in, '\n', session->in_bytes);
	size_t line = end ? (size_t)(end + 1 - session->in) : 0;
	long bytes;

	if (!end)
		return 0;
	switch (session->in[0]) {
	case '-':
		load_error(session->in, line - 2);
		break;
	case '$':
		bytes = strtol(session->in + 1, NULL, 10);
		if (bytes >= 0)
			line += (size_t)bytes + 2;
		if (session->in_bytes < line)
			return 0;
		break;
	case '+':
	case ':':
		break;
	default:
		load_fail("the server answered '%.*s'", (int)line, session->in);
	}
	*done = true;
	return line;
}

const struct protocol redis_protocol = {
	"redis", {"get", "set", "del", "hset", "rpush", "ltrim", "bgsave"}, NULL, request, answer,
};
