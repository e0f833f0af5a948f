/* SPDX-License-Identifier: MIT */
/*
 * Queries. Those that only read are answered from memory (query_memory.c). The others are a line to
 * the control socket and a line back (docs/control.md).
 */
#include "query.h"
#include "aliases.h"
#include "memory.h"
#include "peer.h"
#include "fail.h"
#include "proc.h"

/* The timeout until an answer begins, unless it comes at once, and the further time until it is
 * complete. */
#define ACT_SECONDS 30
#define ANSWER_SECONDS 5

/* The most bytes of an answer: enough for a hundred thousand call sites. */
#define ANSWER_MAX ((size_t)256 << 20)

#define REQUEST_TEXT 4096

/* Is the request answered from memory? */
static bool only_reads(const struct process *process, const char *request)
{
	/* A process that runs validates itself. */
	static const char *const words[] = {"validate", "stats",   "slabs", "traces",
					    "objects",  "regions", "waste"};
	const size_t length = strcspn(request, " ");

	if (strcmp(request, "profile") == 0) /* with a word it acts */
		return true;
	for (size_t i = process->way == WAY_SOCKET; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i]) == length && strncmp(words[i], request, length) == 0)
			return true;
	}
	return false;
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
	int fd = peer_open(process->path, process->pid, seconds), error;
	char line[REQUEST_TEXT + 16], *answer = NULL;

	if (fd < 0)
		return NULL;
	snprintf(line, sizeof(line), "slab/2 %s\n", request);
	if (proc_change(process->pid, &process->identity))
		errno = ESRCH;
	else if (send(fd, line, strlen(line), MSG_NOSIGNAL) == (ssize_t)strlen(line))
		answer = read_answer(fd, deadline);
	error = errno;
	close(fd);
	errno = error;
	return answer;
}

static void report_only_read(const struct process *process)
{
	if (process->way == WAY_CORE)
		fail("a core file cannot be changed");
	else if (process->path[0])
		fail("process %d (%s) is read from its memory; it cannot be changed that way",
		     process->pid, process->command);
	else
		fail("process %d (%s) has no control socket; slabinfo can read it, but change it only "
		     "if it was started with SLAB_CONTROL=on",
		     process->pid, process->command);
}

/* Queries */

/* Report why there is no answer. */
static void report_silence(const struct process *process, int error)
{
	const char *change = proc_change(process->pid, &process->identity);
	char name[128];

	query_name(process, name);
	if (change)
		fail("%s %s", name, change);
	else if (error == EPERM)
		fail("%s does not listen on \"%s\": another process does", name, process->path);
	else if (error == EMSGSIZE)
		fail("%s sent an answer of more than %zu MiB", name, ANSWER_MAX >> 20);
	else
		fail("%s does not answer: %s", name,
		     error == EAGAIN ? "it took too long" : strerror(error));
}

bool query_answers(struct process *process)
{
	char *text = exchange(process, "ping", AT_ONCE_SECONDS);

	if (!text && errno == EAGAIN)
		query_report_silent(process);
	else if (!text)
		report_silence(process, errno);
	free(text);
	return text;
}

struct json_object *query_socket(struct process *process, const char *request, int seconds)
{
	struct json_object *answer;
	char *text = exchange(process, request, seconds);

	if (!text) {
		report_silence(process, errno);
		return NULL;
	}
	answer = query_parse(process, text);
	free(text);
	return answer;
}

static int patience(const char *request)
{
	return strncmp(request, "count ", 6) == 0 ? AT_ONCE_SECONDS : ACT_SECONDS;
}

/* Is the text one line? A control character, such as a newline, could end the request early. */
static bool is_one_line(const char *text)
{
	while (*text && !iscntrl((unsigned char)*text))
		text++;
	return !*text;
}

/* Copies of libslab share the socket's name, so one alone has it. */
static bool is_served(struct process *process)
{
	char name[128];

	if (process->copy > 1 && !query_open(process))
		return false;
	if (!process->memory || memory_copies(process->memory) < 2 ||
	    memory_serves(process->memory, process->path))
		return true;
	query_name(process, name);
	fail("the control socket of %s serves another copy of libslab than number %u", name,
	     process->copy);
	return false;
}

static struct json_object *query(struct process *process, const char *request, const char *name)
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
	if (only_reads(process, line))
		return query_memory(process, line);
	if (process->way == WAY_SOCKET && !is_served(process))
		return NULL;
	if (process->way == WAY_SOCKET)
		return query_socket(process, line, patience(line));
	report_only_read(process);
	return NULL;
}

struct json_object *attach_query(struct process *process, const char *request, const char *name)
{
	struct json_object *answer = query(process, request, aliases_real(process, name));

	aliases_show(process, answer);
	return answer;
}
