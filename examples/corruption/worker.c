/* SPDX-License-Identifier: MIT */
/* The worker: executes requests, answers them, and releases them. */
#include "bugs.h"
#include "server.h"

#include <pthread.h>
#include <semaphore.h>
#include <slab/malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static sem_t given, done;
static struct request *next; /* NULL: stop */

void worker_init(void)
{
	sem_init(&given, 0, 0);
	sem_init(&done, 0, 0);
}

static void answer(const struct connection *conn, const char *text, size_t length)
{
	send(conn->fd, text, length, MSG_NOSIGNAL);
}

static void answer_text(const struct connection *conn, const char *text)
{
	answer(conn, text, strlen(text));
}

/* Lines end as in most protocols. */
static void answer_line(const struct connection *conn, const char *text)
{
	char *line = need(slab_malloc(strlen(text) + 3));

	strcpy(line, text);
	strcat(line, "\r\n");
	answer_text(conn, line);
	slab_mfree(line);
}

static void put(const struct request *request)
{
	struct entry *entry = entry_find(request->argument);

	if (entry) {
		entry_set_text(entry, request->text);
		answer_text(request->conn, "changed");
		return;
	}
	entry = entry_make(request->argument, request->text);
	if (strcmp(entry->name, "root") == 0) { /* the name is reserved */
		server.newest = entry->next;
		slab_free(bug_is(BUG_WRONG_CACHE) ? server.requests : server.entries, entry);
		answer_text(request->conn, "refused");
		return;
	}
	answer_text(request->conn, "added");
}

static void show(const struct request *request, struct entry *entry)
{
	char text[80];

	if (!entry || !entry->text[0]) {
		answer_text(request->conn, entry ? "nothing" : "no such entry");
		return;
	}
	if (request->verb == STAT) {
		snprintf(text, sizeof(text), "%lu times, %zu bytes", entry->hits,
			 strlen(entry->text));
		answer_text(request->conn, text);
		return;
	}
	snprintf(text, sizeof(text), "%.*s", (int)sizeof(entry->text), entry->text);
	answer_line(request->conn, text);
	if (!bug_is(BUG_USE_AFTER_FREE_READ))
		entry->hits++;
}

/* A line for the log, and for the client to see. */
static void note(const struct request *request)
{
	size_t room = strlen(request->text) + (bug_is(BUG_MALLOC_OVERFLOW) ? 1 : 3);
	char *line = need(slab_malloc(room)), *start = line;

	strcpy(line, request->text);
	strcat(line, "\r\n");
	while (*start == ' ')
		start++;
	answer_text(request->conn, start);
	slab_mfree(bug_is(BUG_INVALID_FREE) ? start : line);
}

/* What was sent; tabs are blanks. */
static void echo(const struct request *request)
{
	size_t length = strtoul(request->argument, NULL, 10);
	char *copy;

	if (length > ANSWER_MAX)
		length = ANSWER_MAX;
	if (!bug_is(BUG_OUT_OF_BOUNDS_READ) && length > strlen(request->text))
		length = strlen(request->text);
	copy = need(slab_malloc(length + 1));
	for (size_t i = 0; i < length; i++)
		copy[i] = request->text[i] == '\t' ? ' ' : request->text[i];
	answer(request->conn, copy, length);
	slab_mfree(copy);
}

static void upload(const struct request *request)
{
	struct buffer *buffer = request->conn->buffer;
	size_t length = strtoul(request->argument, NULL, 10);

	if (!bug_is(BUG_SLAB_PADDING) && length >= sizeof(buffer->bytes)) {
		answer_text(request->conn, "too long");
		return;
	}
	((char *)buffer)[length] = '\0'; /* the text will end there */
	answer_text(request->conn, "go on");
}

static void hello(const struct request *request)
{
	char *text = bug_is(BUG_FOREIGN_MEMORY) ? strdup("hello") : slab_malloc(6);

	strcpy(need(text), "hello");
	answer_text(request->conn, text);
	slab_mfree(text);
}

/* hello() to a client that says its name. The block may stay where it is when it grows. */
static void greet(const struct request *request)
{
	size_t length = strlen(request->argument);
	char *line = need(slab_malloc(length + 1));

	strcpy(line, request->argument);
	if (bug_is(BUG_REALLOC_OVERFLOW)) {
		strcat(line, "!\r\n");
		line = need(slab_realloc(line, length + 4));
	} else {
		line = need(slab_realloc(line, length + 4));
		strcat(line, "!\r\n");
	}
	answer(request->conn, line, length + 3);
	slab_mfree(line);
}

static void count(const struct request *request)
{
	char text[32];

	snprintf(text, sizeof(text), "%u requests", request->conn->requests);
	answer_text(request->conn, text);
}

static void execute(const struct request *request)
{
	if (!bug_is(BUG_DATA_RACE))
		request->conn->requests++;
	switch (request->verb) {
	case PUT:
		put(request);
		break;
	case DEL:
		answer_text(request->conn,
			    entry_delete(request->argument) ? "deleted" : "no such entry");
		break;
	case WATCH:
		request->conn->watched = entry_find(request->argument);
		answer_text(request->conn, "watching");
		break;
	case NOTE:
		note(request);
		break;
	case ECHO:
		echo(request);
		break;
	case UPLOAD:
		upload(request);
		break;
	case HELLO:
		if (*request->argument)
			greet(request);
		else
			hello(request);
		break;
	case COUNT:
		count(request);
		break;
	case BYE:
		answer_text(request->conn, "bye");
		break;
	default: /* GET, STAT, AGAIN */
		show(request, request->verb == AGAIN ? request->conn->watched
						     : entry_find(request->argument));
	}
}

void *worker_run(void *unused)
{
	for (;;) {
		sem_wait(&given);
		if (!next)
			return unused;
		execute(next);
		request_release(next);
		sem_post(&done);
	}
}

void worker_do(struct request *request)
{
	struct connection *conn = request->conn;

	next = request;
	sem_post(&given);
	if (bug_is(BUG_DATA_RACE))
		conn->requests++; /* the worker may read it now */
	sem_wait(&done);
}

void worker_stop(void)
{
	next = NULL;
	sem_post(&given);
}
