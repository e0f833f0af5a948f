/* SPDX-License-Identifier: MIT */
/*
 * Queries: a line to the control socket and a line back (docs/control.md), or the same request
 * answered from memory.
 *
 * Requests that memory can answer have a short timeout: if the process does not answer, its memory
 * is read from then on. Requests that only the process can serve have a longer timeout.
 */
#include "attach.h"
#include "memory.h"
#include "peer.h"
#include "proc.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* The timeout until an answer begins, for requests that read and for requests that act, and the
 * further time until the answer is complete. */
#define READ_SECONDS 2
#define ACT_SECONDS 30
#define ANSWER_SECONDS 5

/* The most bytes of an answer: enough for a hundred thousand call sites. */
#define ANSWER_MAX ((size_t)256 << 20)

#define REQUEST_TEXT 4096

static void describe(const struct process *process, char text[128])
{
	snprintf(text, 128, "process %d (%s)", process->pid, process->command);
}

/* Can memory answer the request? */
static bool is_readable(const char *request)
{
	static const char *const words[] = {"ping",   "stats",   "slabs",
					    "traces", "objects", "regions"};
	const size_t length = strcspn(request, " ");

	if (strcmp(request, "profile") == 0) /* with a word it acts */
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i]) == length && strncmp(words[i], request, length) == 0)
			return true;
	}
	return false;
}

/* Can memory alone answer it, while the process stands still? */
static bool is_for_memory(const char *request)
{
	return strncmp(request, "validate ", 9) == 0;
}

/* The socket */

static int64_t now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Receive the next bytes. Returns 0 at the end, or -1 and errno; EAGAIN: a timeout. */
static ssize_t receive(int fd, char *to, size_t size, int64_t deadline)
{
	ssize_t n;

	do {
		if (now_seconds() > deadline) {
			errno = EAGAIN;
			return -1;
		}
		n = recv(fd, to, size, 0);
	} while (n < 0 && errno == EINTR);
	return n;
}

/* Make room for more of an answer; false and errno on failure; EMSGSIZE: it is too long. */
static bool grow(char **text, size_t *capacity)
{
	char *larger;

	if (*capacity >= ANSWER_MAX) {
		errno = EMSGSIZE;
		return false;
	}
	larger = realloc(*text, *capacity * 2);
	if (!larger)
		return false;
	*text = larger;
	*capacity *= 2;
	return true;
}

/* Receive until the process closes the socket; returns a string, or NULL and errno. */
static char *read_answer(int fd, int64_t deadline)
{
	size_t capacity = 1 << 16, length = 0;
	char *text = malloc(capacity);
	ssize_t n = 1;
	int error;

	while (text && n > 0) {
		n = receive(fd, text + length, capacity - length - 1, deadline);
		length += n > 0 ? (size_t)n : 0;
		if (n > 0 && capacity - length == 1 && !grow(&text, &capacity))
			n = -1;
	}
	if (text && n == 0) {
		text[length] = '\0';
		return text;
	}
	error = errno;
	free(text);
	errno = error;
	return NULL;
}

/* Send a request and return the answer's text, or NULL and errno; EPERM: another process listens on
 * the socket. */
static char *exchange(const struct process *process, const char *request, int seconds)
{
	const int64_t deadline = now_seconds() + seconds + ANSWER_SECONDS;
	int fd = peer_connect(process->path, seconds), error;
	char line[REQUEST_TEXT + 16], *answer = NULL;

	if (fd < 0)
		return NULL;
	snprintf(line, sizeof(line), "slab/2 %s\n", request);
	if (!peer_pid(fd, process->pid))
		errno = EPERM;
	else if (send(fd, line, strlen(line), MSG_NOSIGNAL) == (ssize_t)strlen(line))
		answer = read_answer(fd, deadline);
	error = errno;
	close(fd);
	errno = error;
	return answer;
}

/* Parses an answer: its document if it has "ok"; otherwise NULL, after an error message. */
static struct json_object *parse(const struct process *process, const char *text)
{
	struct json_object *answer = json_tokener_parse(text), *member;
	char name[128];

	if (json_object_object_get_ex(answer, "ok", &member) && json_object_get_boolean(member))
		return answer;
	describe(process, name);
	if (json_object_object_get_ex(answer, "error", &member))
		fail("%s: %s", name, json_object_get_string(member));
	else if (proc_is_gone(process->pid))
		fail("%s has ended", name);
	else
		fail("%s sent an answer in an unknown format", name);
	json_object_put(answer);
	return NULL;
}

/* Memory */

bool attach_report_silent(const struct process *process)
{
	if (process->acts)
		fail("process %d (%s) is stopped or does not answer; it cannot be changed now",
		     process->pid, process->command);
	else
		fail("process %d (%s) does not answer; reading its memory", process->pid,
		     process->command);
	return !process->acts;
}

/* Add file and offset to the addresses of a call site. libslab's data do not have them, but the
 * process's mappings do. */
static void locate_frames(struct memory *memory, struct json_object *site)
{
	struct json_object *stack, *address;

	if (!json_object_object_get_ex(site, "stack", &stack))
		return;
	for (size_t i = 0; i < json_object_array_length(stack); i++) {
		struct json_object *frame = json_object_array_get_idx(stack, i);
		const char *path;
		uint64_t offset;

		if (!json_object_object_get_ex(frame, "address", &address))
			continue;
		/* The call precedes the return address, which may lie in the next function or file. */
		path = memory_locate(memory, json_object_get_uint64(address) - 1, &offset);
		if (!path)
			continue;
		json_object_object_add(frame, "file", json_object_new_string(path));
		json_object_object_add(frame, "offset", json_object_new_uint64(offset + 1));
	}
}

static void locate_sites(struct memory *memory, struct json_object *answer)
{
	struct json_object *sites;

	if (!json_object_object_get_ex(answer, "sites", &sites))
		return;
	for (size_t i = 0; i < json_object_array_length(sites); i++)
		locate_frames(memory, json_object_array_get_idx(sites, i));
}

/* Report the error message of an answer, or a better message if the cause is known here. */
static void report_refusal(const struct process *process, const struct slab_answer *answer,
			   int error)
{
	struct json_object *document = answer->text ? json_tokener_parse(answer->text) : NULL;
	const bool names_process = error == -EPROTO || error == -EFAULT;
	struct json_object *message = NULL;
	char name[128];

	describe(process, name);
	json_object_object_get_ex(document, "error", &message);
	if (process->way == WAY_MEMORY && proc_is_gone(process->pid))
		fail("%s has ended", name);
	else if (memory_trouble(process->memory)[0])
		fail("%s", memory_trouble(process->memory));
	else if (message && names_process)
		fail("%s", json_object_get_string(message));
	else if (message)
		fail("%s: %s", name, json_object_get_string(message));
	else
		fail("the memory of %s cannot be read: %s", name, strerror(-error));
	json_object_put(document);
}

static struct json_object *query_memory(struct process *process, const char *request)
{
	struct json_object *document = NULL;
	struct slab_answer answer;
	int error;

	if (!process->memory)
		process->memory = memory_open_process(process->pid);
	if (!process->memory)
		return NULL;
	error = memory_query(process->memory, request, &answer);
	if (error)
		report_refusal(process, &answer, error);
	else
		document = parse(process, answer.text);
	slab_answer_free(&answer);
	if (document)
		locate_sites(process->memory, document);
	return document;
}

static void report_only_read(const struct process *process)
{
	if (process->way == WAY_CORE)
		fail("a core file cannot be changed");
	else if (process->path[0])
		fail("process %d (%s) is read from its memory; it cannot be changed that way",
		     process->pid, process->command);
	else
		fail("process %d (%s) has no control socket (SLAB_CONTROL=off?); slabinfo can read "
		     "it, but not change it",
		     process->pid, process->command);
}

/* Queries */

/* The timeout of a request. Of the requests that act, "count" is answered at once. */
static int patience(const char *request, bool readable)
{
	return readable || strncmp(request, "count ", 6) == 0 ? READ_SECONDS : ACT_SECONDS;
}

/* Report why there is no answer. */
static void report_silence(const struct process *process, int error)
{
	char name[128];

	describe(process, name);
	if (proc_is_gone(process->pid))
		fail("%s has ended", name);
	else if (error == EPERM)
		fail("%s does not listen on \"%s\": another process does", name, process->path);
	else if (error == EMSGSIZE)
		fail("%s sent an answer of more than %zu MiB", name, ANSWER_MAX >> 20);
	else
		fail("%s does not answer: %s", name,
		     error == EAGAIN ? "it took too long" : strerror(error));
}

static struct json_object *query_socket(struct process *process, const char *request)
{
	const bool readable = is_readable(request);
	struct json_object *answer;
	char *text = NULL;

	errno = EAGAIN;
	if (!readable || !proc_is_stopped(process->pid))
		text = exchange(process, request, patience(request, readable));
	if (!text && errno == EAGAIN && readable) {
		if (!attach_report_silent(process))
			return NULL;
		process->way = WAY_MEMORY;
		return query_memory(process, request);
	}
	if (!text) {
		report_silence(process, errno);
		return NULL;
	}
	answer = parse(process, text);
	free(text);
	return answer;
}

/* Is the text one line? A control character, such as a newline, could end the request early. */
static bool is_one_line(const char *text)
{
	while (*text && !iscntrl((unsigned char)*text))
		text++;
	return !*text;
}

struct json_object *attach_query(struct process *process, const char *request, const char *name)
{
	char line[REQUEST_TEXT];
	int length =
		snprintf(line, sizeof(line), "%s%s%s", request, name ? " " : "", name ? name : "");

	if (length < 0 || (size_t)length >= sizeof(line)) {
		fail("the request is longer than %d bytes", REQUEST_TEXT - 1);
		return NULL;
	}
	if (!is_one_line(line)) {
		fail("\"%s\" has a line end or another control character in it, and requests are "
		     "lines of text",
		     line);
		return NULL;
	}
	if (process->way == WAY_SOCKET)
		return query_socket(process, line);
	if (is_readable(line) || is_for_memory(line))
		return query_memory(process, line);
	report_only_read(process);
	return NULL;
}
