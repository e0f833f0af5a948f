/* SPDX-License-Identifier: MIT */
/* Requests: "verb argument text". */
#include "bugs.h"
#include "server.h"

#include <string.h>

struct request *request_make(struct connection *conn)
{
	struct request *request = need(request_zalloc(server.requests));

	request->conn = conn;
	return request;
}

void request_release(struct request *request)
{
	request_free(server.requests, request);
}

/* End the word here; the next one. */
static char *next_word(char *word)
{
	char *end = strchr(word, ' ');

	if (!end)
		return word + strlen(word);
	*end = '\0';
	return end + 1;
}

bool parse_request(struct request *request)
{
	static const char *const verbs[VERBS] = {"get",    "put",   "del",   "stat",
						 "watch",  "again", "note",  "echo",
						 "upload", "hello", "count", "bye"};

	request->argument = next_word(request->line);
	/* A note is the rest of its line, blanks and all. */
	request->text = strcmp(request->line, "note") == 0 ? request->argument
							   : next_word(request->argument);
	for (unsigned verb = 0; verb < VERBS; verb++) {
		if (strcmp(request->line, verbs[verb]) == 0) {
			request->verb = (unsigned char)verb;
			return true;
		}
	}
	if (bug_is(BUG_DOUBLE_FREE))
		request_release(request); /* the caller does */
	return false;
}
