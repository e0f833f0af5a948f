/* SPDX-License-Identifier: MIT */
/*
 * The memory of a live process that this user may not read (ptrace_scope 1): the control socket's
 * request "read" serves libslab's structures (docs/control.md). What else is needed are headers of
 * mapped files, which are in the files.
 */
#include "freeze.h"
#include "memory_source.h"
#include "peer.h"

#include <json-c/json.h>

#define PATIENCE_SECONDS 2
#define LINE_TEXT 512
#define READ_BYTES_MAX ((size_t)1 << 18) /* of one request */
#define READ_PIECES_MAX ((size_t)1024)

/* --- a request and its line ----------------------------------------------------------------- */

/* Receive a whole buffer; 0 or -errno. */
static int receive(int fd, void *to, size_t size)
{
	const ssize_t n = recv(fd, to, size, MSG_WAITALL);

	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -ECONNRESET;
}

/* The line is short, and nothing but its own bytes may be taken. All of it has to come soon. */
static int receive_line(int fd, char line[LINE_TEXT])
{
	const uint64_t end = freeze_now() + PATIENCE_SECONDS * UINT64_C(1000000);

	for (size_t i = 0; i < LINE_TEXT - 1; i++) {
		if (freeze_now() > end)
			return -EAGAIN;

		int error = receive(fd, &line[i], 1);

		line[i + 1] = '\0';
		if (error || line[i] == '\n')
			return error;
	}
	return -EMSGSIZE;
}

/* Send a request and receive its line. NULL: there is none, and *ret_error says why. */
static struct json_object *ask(int fd, const char *request, int *ret_error)
{
	struct json_object *answer = NULL;
	char line[LINE_TEXT];

	*ret_error = 0;
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
		*ret_error = -errno;
	if (!*ret_error)
		*ret_error = receive_line(fd, line);
	if (!*ret_error)
		answer = json_tokener_parse(line);
	if (!*ret_error && !answer)
		*ret_error = -EPROTO;
	return answer;
}

static uint64_t number_in(struct json_object *answer, const char *key)
{
	struct json_object *member;

	return json_object_object_get_ex(answer, key, &member) ? json_object_get_uint64(member) : 0;
}

/* --- reading -------------------------------------------------------------------------------- */

static int read_some(struct memory *memory, uint64_t address, size_t size, size_t stride,
		     size_t count, void *to)
{
	struct json_object *answer;
	char request[128];
	uint64_t bytes;
	int error;

	snprintf(request, sizeof(request), "slab/2 read %" PRIu64 " %zu %zu %zu\n", address, size,
		 stride, count);
	answer = ask(memory->socket, request, &error);
	bytes = number_in(answer, "bytes");
	json_object_put(answer);
	if (error) {
		snprintf(memory->trouble, sizeof(memory->trouble),
			 "process %d (%s) does not answer: %s", memory->pid, memory->command,
			 error == -EAGAIN ? "it took too long" : strerror(-error));
		return error;
	}
	return bytes == size * count ? receive(memory->socket, to, bytes) : -EFAULT;
}

/* A part of a mapped file that nobody changes, such as its header. */
static int read_file(const struct memory *memory, uint64_t address, size_t size, void *to)
{
	const struct mapping *mapping = memory_find_mapping(memory, address);
	ssize_t n = -1;
	int fd;

	if (!mapping || size > mapping->end - address)
		return -EFAULT;
	fd = open(mapping->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	n = pread(fd, to, size, (off_t)(mapping->offset + (address - mapping->start)));
	close(fd);
	return n == (ssize_t)size ? 0 : -EFAULT;
}

static int socket_read_pieces(struct memory *memory, uint64_t address, size_t size, size_t stride,
			      size_t count, void *to)
{
	const size_t room = READ_BYTES_MAX / size,
		     at_once = room < READ_PIECES_MAX ? room : READ_PIECES_MAX;
	unsigned char *at = to;
	int error = room ? 0 : -EINVAL;

	while (!error && count) {
		const size_t pieces = count < at_once ? count : at_once;

		error = read_some(memory, address, size, stride, pieces, at);
		address += pieces * stride;
		at += pieces * size;
		count -= pieces;
	}
	return error;
}

static int socket_read(struct memory *memory, uint64_t address, size_t size, void *to)
{
	unsigned char *at = to;
	int error = 0;

	for (size_t done = 0; done < size && !error; done += READ_BYTES_MAX) {
		const size_t left = size - done,
			     part = left < READ_BYTES_MAX ? left : READ_BYTES_MAX;

		error = read_some(memory, address + done, part, 0, 1, at + done);
	}
	return error == -EFAULT ? read_file(memory, address, size, to) : error;
}

static void socket_close(struct memory *memory)
{
	close(memory->socket);
	memory_free_mappings(memory);
	free(memory);
}

static const struct memory_source socket_source = {
	.read = socket_read,
	.read_pieces = socket_read_pieces,
	.close = socket_close,
	.live = true,
};

/* --- opening -------------------------------------------------------------------------------- */

/* The root of the process, which answers on its socket. */
static int ask_root(const char *path, pid_t pid, uint64_t *ret_root)
{
	const int fd = peer_open(path, pid, PATIENCE_SECONDS);
	struct json_object *answer;
	int error;

	if (fd < 0)
		return -errno;
	answer = ask(fd, "slab/2 ping\n", &error);
	close(fd);
	*ret_root = number_in(answer, "root");
	if (!error && !number_in(answer, "has_caches"))
		error = -ENODATA;
	json_object_put(answer);
	return error;
}

bool memory_serves(const struct memory *memory, const char *socket)
{
	uint64_t root = 0;

	ask_root(socket, memory->pid, &root);
	return root == memory->root;
}

int memory_use_socket(struct memory *memory, const char *path)
{
	int error = ask_root(path, memory->pid, &memory->root);
	const int fd = error ? -1 : peer_open(path, memory->pid, PATIENCE_SECONDS);

	if (!error && fd < 0)
		error = -errno;
	if (error)
		return error;
	memory->socket = fd;
	memory->source = &socket_source;
	return 0;
}
