/* SPDX-License-Identifier: MIT */
/* Reading and writing the files of trace.h. Errors are constant sentences. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace.h"

#define MAX_STEPS (UINT64_C(1) << 32)

static size_t trace_bytes(const struct trace_header *header)
{
	return sizeof(*header) + header->types * sizeof(struct trace_type) +
	       (header->threads + 2) * sizeof(struct trace_stream) +
	       header->steps * sizeof(struct trace_step);
}

void trace_layout(struct trace *trace, const struct trace_header *header)
{
	trace->header = header;
	trace->types = (const struct trace_type *)(header + 1);
	trace->streams = (const struct trace_stream *)(trace->types + header->types);
	trace->steps = (const struct trace_step *)(trace->streams + header->threads + 2);
	trace->bytes = trace_bytes(header);
}

static const char *check_header(const struct trace_header *header, size_t bytes)
{
	if (bytes < sizeof(header->magic) ||
	    memcmp(header->magic, TRACE_MAGIC, sizeof(header->magic)) != 0)
		return "it is no trace of allocations";
	if (bytes < sizeof(*header))
		return "it is truncated";
	if (header->version != TRACE_VERSION)
		return "it is of another version of this benchmark; record it again";
	if (header->threads == 0 || header->threads > TRACE_MAX_THREADS ||
	    header->types > TRACE_MAX_TYPES || header->steps > MAX_STEPS ||
	    header->slots > header->steps)
		return "its header is damaged";
	if (bytes < trace_bytes(header))
		return "it is truncated";
	return bytes > trace_bytes(header) ? "it is longer than its header says" : NULL;
}

static const char *map_file(struct trace *trace, int fd)
{
	struct stat status;
	const char *why;
	void *block;

	if (fstat(fd, &status) != 0)
		return strerror(errno);
	if (status.st_size == 0)
		return "it is no trace of allocations";
	block = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (block == MAP_FAILED)
		return strerror(errno);
	why = check_header(block, (size_t)status.st_size);
	if (!why) {
		trace_layout(trace, block);
		why = trace_check(trace);
	}
	if (why)
		munmap(block, (size_t)status.st_size);
	return why;
}

const char *trace_open(struct trace *trace, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *why;

	if (fd < 0)
		return strerror(errno);
	why = map_file(trace, fd);
	close(fd);
	return why;
}

void trace_close(struct trace *trace)
{
	munmap((void *)(uintptr_t)trace->header, trace->bytes);
	memset(trace, 0, sizeof(*trace));
}

const char *trace_write(const struct trace *trace, const char *path)
{
	char unfinished[4096];
	FILE *file;
	bool written;
	int error;

	if (snprintf(unfinished, sizeof(unfinished), "%s.new", path) >= (int)sizeof(unfinished))
		return "its path is too long";
	file = fopen(unfinished, "we");
	if (!file)
		return strerror(errno);
	written = fwrite(trace->header, trace->bytes, 1, file) == 1;
	if (fclose(file) == 0 && written && rename(unfinished, path) == 0)
		return NULL;
	error = errno;
	unlink(unfinished);
	return strerror(error);
}
