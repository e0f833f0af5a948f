/* SPDX-License-Identifier: MIT */
/* Writing recordings; recording_read.c reads them. */
#include "recording.h"

#include <sys/file.h>

#define BLOCK 4096

/* Opening */

/* How long the last line is that has no newline; -1 when it cannot be read. */
static off_t unfinished(int fd, off_t size)
{
	char block[BLOCK];
	off_t at = size;

	while (at > 0) {
		size_t part = at < BLOCK ? (size_t)at : BLOCK;
		const char *newline;

		at -= (off_t)part;
		if (pread(fd, block, part, at) != (ssize_t)part)
			return -1;
		newline = memrchr(block, '\n', part);
		if (newline)
			return size - at - (newline - block) - 1;
	}
	return size;
}

/* A file that is not empty must be a recording; its last line may be incomplete. */
static bool check_file(struct recording *recording, off_t size)
{
	char start[sizeof(RECORDING_START)] = "";
	size_t len = sizeof(RECORDING_START) - 1;
	off_t rest;

	if (pread(recording->fd, start, len, 0) < 0) {
		fail("%s cannot be read: %s", recording->path, strerror(errno));
		return false;
	}
	if (strncmp(start, RECORDING_START, (size_t)size < len ? (size_t)size : len) != 0) {
		fail("%s is not a recording and stays unchanged; give --record a new "
		     "file, or one that it made",
		     recording->path);
		return false;
	}
	rest = unfinished(recording->fd, size);
	if (rest < 0 || (rest > 0 && ftruncate(recording->fd, size - rest) != 0)) {
		fail("%s cannot be continued: %s", recording->path, strerror(errno));
		return false;
	}
	if (rest > 0)
		fail("%s: the last line was incomplete and is removed", recording->path);
	return true;
}

/* A line that another process is writing looks like an incomplete one. */
static bool lock_file(struct recording *recording)
{
	if (flock(recording->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return true;
	fail("another process records to %s; give --record another file", recording->path);
	return false;
}

static bool continue_file(struct recording *recording)
{
	struct stat status;
	off_t size;

	if (fstat(recording->fd, &status) != 0 || !S_ISREG(status.st_mode))
		return true;
	if (!lock_file(recording))
		return false;
	size = lseek(recording->fd, 0, SEEK_END);
	return size <= 0 || check_file(recording, size);
}

bool recording_open(struct recording *recording, const char *path)
{
	recording->path = path;
	if (strcmp(path, "-") == 0) {
		recording->fd = dup(STDOUT_FILENO);
	} else {
		recording->fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
		/* Pipes and devices that can only be written to. */
		if (recording->fd < 0 && (errno == EACCES || errno == EINVAL))
			recording->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	}
	if (recording->fd < 0) {
		fail("%s cannot be opened: %s", path, strerror(errno));
		return false;
	}
	if (strcmp(path, "-") == 0 || continue_file(recording))
		return true;
	recording_close(recording);
	return false;
}

void recording_close(struct recording *recording)
{
	close(recording->fd);
}

/* Appending */

static struct json_object *make_cache(const struct cache *cache)
{
	struct json_object *json = json_object_new_object();

	model_add_text(json, "name", cache->name);
	model_add_number(json, "object_size", cache->object_size);
	model_add_number(json, "objects", cache->objects);
	model_add_number(json, "total_objects", cache->total_objects);
	model_add_number(json, "slabs", cache->slabs);
	model_add_number(json, "partial", cache->partial);
	model_add_number(json, "bytes", cache->slab_bytes);
	model_add_number(json, "used", cache_used_bytes(cache));
	model_add_number(json, "populated", model_number(cache->json, "populated"));
	return json;
}

static void add_time(struct json_object *sample)
{
	struct timespec now;
	struct tm parts;
	char text[64], date[32];
	unsigned ms;

	clock_gettime(CLOCK_REALTIME, &now);
	ms = (unsigned)(now.tv_nsec / 1000000);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &parts));
	snprintf(text, sizeof(text), "%s.%03uZ", date, ms);
	model_add_text(sample, "time", text);
	model_add_number(sample, "ms", (uint64_t)now.tv_sec * 1000 + ms);
}

static struct json_object *make_sample(const struct process *process, const struct model *model,
				       double interval)
{
	struct json_object *sample = json_object_new_object();
	struct json_object *caches = json_object_new_array();

	model_add_number(sample, "slab_recording", 2);
	add_time(sample);
	model_add_number(sample, "interval_ms", (uint64_t)(interval * 1000 + 0.5));
	model_add_number(sample, "pid", (uint64_t)process->pid);
	model_add_text(sample, "command", process->command);
	for (size_t i = 0; i < model->count; i++)
		json_object_array_add(caches, make_cache(&model->caches[i]));
	json_object_object_add(sample, "caches", caches);
	return sample;
}

/* All of the line or nothing of it. */
static bool write_line(struct recording *recording, const char *line, size_t size)
{
	ssize_t written = 0;
	size_t done = 0;

	while (done < size) {
		written = write(recording->fd, line + done, size - done);
		if (written < 0 && errno != EINTR)
			break;
		done += written > 0 ? (size_t)written : 0;
	}
	if (done == size)
		return true;
	fail("%s cannot be written: %s", recording->path, strerror(errno));
	if (done > 0) {
		off_t end = lseek(recording->fd, 0, SEEK_END);

		if (end < 0 || ftruncate(recording->fd, end - (off_t)done) != 0)
			fail("%s: its last line is incomplete", recording->path);
	}
	return false;
}

bool recording_append(struct recording *recording, const struct process *process,
		      const struct model *model, double interval)
{
	struct json_object *sample = make_sample(process, model, interval);
	const char *text = json_object_to_json_string_ext(
		sample, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	char *line = NULL;
	int size = asprintf(&line, "%s\n", text);
	bool done = size >= 0 && write_line(recording, line, (size_t)size);

	if (size < 0)
		fail("no memory for a sample");
	else
		free(line);
	json_object_put(sample);
	return done;
}
