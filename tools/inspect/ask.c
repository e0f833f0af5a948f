/* SPDX-License-Identifier: MIT */
/*
 * Asking: a line to the control socket and a line back (docs/control.md), or the
 * same request answered from memory.
 *
 * What can be read from memory is not waited for long: a process that does not
 * answer is read without its help from then on. What only the process can do
 * takes the time that it takes.
 */
#include "attach.h"
#include "memory.h"
#include "proc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* How long an answer may take: what is read at once, what moves memory about. */
#define READ_SECONDS 2
#define ACT_SECONDS 30

#define REQUEST_TEXT 4096

static void describe(const struct process *process, char text[128])
{
	snprintf(text, 128, "process %d (%s)", process->pid, process->command);
}

/* The first word of the request is one that memory answers. */
static bool is_readable(const char *request)
{
	static const char *const words[] = {"ping", "stats", "slabs", "traces"};
	const size_t length = strcspn(request, " ");

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i]) == length && strncmp(words[i], request, length) == 0)
			return true;
	}
	return false;
}

/* The socket */

static int connect_to(const char *path, int seconds)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval patience = {.tv_sec = seconds};
	int fd;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

/* All that comes until the process closes, as a string; NULL and errno. */
static char *read_answer(int fd)
{
	size_t capacity = 1 << 16, length = 0;
	char *text = malloc(capacity);
	ssize_t n = 0;

	while (text && (n = recv(fd, text + length, capacity - length - 1, 0)) > 0) {
		char *larger;

		length += (size_t)n;
		if (capacity - length > 1)
			continue;
		larger = realloc(text, capacity *= 2);
		if (!larger)
			free(text);
		text = larger;
	}
	if (text && n < 0) {
		int error = errno;

		free(text);
		errno = error;
		return NULL;
	}
	if (text)
		text[length] = '\0';
	return text;
}

/* The answer's text, or NULL and errno. */
static char *exchange(const char *path, const char *request, int seconds)
{
	char line[REQUEST_TEXT + 16];
	int fd = connect_to(path, seconds), error;
	char *answer = NULL;

	if (fd < 0)
		return NULL;
	snprintf(line, sizeof(line), "slab/1 %s\n", request);
	if (send(fd, line, strlen(line), MSG_NOSIGNAL) == (ssize_t)strlen(line))
		answer = read_answer(fd);
	error = errno;
	close(fd);
	errno = error;
	return answer;
}

/* Takes an answer apart: its document when it says "ok", else NULL, told. */
static struct json_object *parse(const struct process *process, const char *text)
{
	struct json_object *answer = json_tokener_parse(text), *member;
	char who[128];

	if (json_object_object_get_ex(answer, "ok", &member) && json_object_get_boolean(member))
		return answer;
	describe(process, who);
	if (json_object_object_get_ex(answer, "error", &member))
		fail("%s: %s", who, json_object_get_string(member));
	else if (proc_is_gone(process->pid))
		fail("%s has ended", who);
	else
		fail("%s did not give an answer that is understood here", who);
	json_object_put(answer);
	return NULL;
}

/* Memory */

void attach_tell_silent(const struct process *process)
{
	fail("process %d (%s) does not answer; reading its memory", process->pid, process->command);
}

/* Where the code of a call site is: files are known here, and not in memory. */
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
		/* The call is in front of it: at a function's end that is another file. */
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

/* The sentence in an answer that says no, or what is better known here. */
static void tell_refusal(const struct process *process, const struct slab_answer *answer, int error)
{
	struct json_object *document = answer->text ? json_tokener_parse(answer->text) : NULL;
	const bool names_process = error == -EPROTO || error == -EFAULT;
	struct json_object *sentence = NULL;
	char who[128];

	describe(process, who);
	json_object_object_get_ex(document, "error", &sentence);
	if (process->way == WAY_MEMORY && proc_is_gone(process->pid))
		fail("%s has ended", who);
	else if (memory_trouble(process->memory)[0])
		fail("%s", memory_trouble(process->memory));
	else if (sentence && names_process)
		fail("%s", json_object_get_string(sentence));
	else if (sentence)
		fail("%s: %s", who, json_object_get_string(sentence));
	else
		fail("the memory of %s cannot be read: %s", who, strerror(-error));
	json_object_put(document);
}

static struct json_object *ask_memory(struct process *process, const char *request)
{
	struct json_object *document = NULL;
	struct slab_answer answer;
	int error;

	if (!process->memory)
		process->memory = memory_open_process(process->pid);
	if (!process->memory)
		return NULL;
	error = memory_ask(process->memory, request, &answer);
	if (error)
		tell_refusal(process, &answer, error);
	else
		document = parse(process, answer.text);
	slab_answer_free(&answer);
	if (document)
		locate_sites(process->memory, document);
	return document;
}

static void tell_only_read(const struct process *process)
{
	if (process->way == WAY_CORE)
		fail("a core file cannot be changed");
	else if (process->path[0])
		fail("process %d (%s) is read from its memory; it can be looked at, not changed",
		     process->pid, process->command);
	else
		fail("process %d (%s) has no control socket (SLAB_CONTROL=off?); it can be looked "
		     "at, not changed",
		     process->pid, process->command);
}

/* Asking */

/* Of the actions, counting only opens windows. */
static int patience(const char *request, bool readable)
{
	return readable || strncmp(request, "count ", 6) == 0 ? READ_SECONDS : ACT_SECONDS;
}

static struct json_object *ask_socket(struct process *process, const char *request)
{
	const bool readable = is_readable(request);
	struct json_object *answer;
	char *text = NULL;

	errno = EAGAIN;
	if (!readable || !proc_is_stopped(process->pid))
		text = exchange(process->path, request, patience(request, readable));
	if (!text && errno == EAGAIN && readable) {
		attach_tell_silent(process);
		process->way = WAY_MEMORY;
		return ask_memory(process, request);
	}
	if (!text && proc_is_gone(process->pid))
		fail("process %d (%s) has ended", process->pid, process->command);
	else if (!text)
		fail("process %d (%s) does not answer: %s", process->pid, process->command,
		     errno == EAGAIN ? "it took too long" : strerror(errno));
	answer = text ? parse(process, text) : NULL;
	free(text);
	return answer;
}

struct json_object *attach_ask(struct process *process, const char *request, const char *name)
{
	char line[REQUEST_TEXT];
	int length =
		snprintf(line, sizeof(line), "%s%s%s", request, name ? " " : "", name ? name : "");

	if (length < 0 || (size_t)length >= sizeof(line)) {
		fail("the request is longer than %d bytes", REQUEST_TEXT - 1);
		return NULL;
	}
	if (process->way == WAY_SOCKET)
		return ask_socket(process, line);
	if (is_readable(line))
		return ask_memory(process, line);
	tell_only_read(process);
	return NULL;
}
