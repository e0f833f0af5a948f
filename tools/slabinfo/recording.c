/* SPDX-License-Identifier: MIT */
/* Writing and reading recordings. */
#include "recording.h"
#include "array.h"

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

/* --- reading ------------------------------------------------------------------------------ */

/* Reading recordings of --record: each line is a sample, one JSON object. A damaged line ends the
 * reading with an error message; an incomplete last line is named and ignored. */

#define MS_MAX UINT64_C(253402300799999) /* the year 9999 ends */

/* Names: caches come in the same order nearly always, so that the place where the
 * name was last time is tried first. */
static bool find_name(struct samples *samples, const char *name, size_t *place)
{
	char **names;

	if (*place < samples->names_count && strcmp(samples->names[*place], name) == 0)
		return true;
	for (*place = 0; *place < samples->names_count; ++*place) {
		if (strcmp(samples->names[*place], name) == 0)
			return true;
	}
	names = array_with_room(samples->names, samples->names_count, &samples->names_capacity,
				sizeof(*names));
	if (!names)
		return false;
	samples->names = names;
	samples->names[samples->names_count] = strdup(name);
	if (!samples->names[samples->names_count])
		return false;
	samples->names_count++;
	return true;
}

static struct sample *add_sample(struct samples *samples)
{
	struct sample *sample = array_with_room(samples->samples, samples->count,
						&samples->capacity, sizeof(*sample));

	if (!sample)
		return NULL;
	samples->samples = sample;
	sample += samples->count;
	*sample = (struct sample){.line = samples->count};
	return sample;
}

/* What is wrong with a line, NULL when nothing is; then it is a sample more. */
static const char *load_sample(struct samples *samples, struct json_object *json)
{
	struct json_object *caches = model_member(json, "caches");
	struct sample *sample;
	size_t place = 0;

	if (model_number(json, "slab_recording") != 2 || !model_number(json, "ms") ||
	    model_number(json, "ms") > MS_MAX || model_number(json, "interval_ms") > MS_MAX ||
	    !json_object_is_type(caches, json_type_array))
		return "is not a sample that --record wrote";
	sample = add_sample(samples);
	if (!sample)
		return "does not fit into memory";
	sample->ms = model_number(json, "ms");
	sample->interval_ms = model_number(json, "interval_ms");
	sample->pid = (pid_t)model_number(json, "pid");
	sample->readings = calloc(model_length(caches) + 1, sizeof(*sample->readings));
	if (!sample->readings)
		return "does not fit into memory";
	samples->count++;
	snprintf(samples->command, sizeof(samples->command), "%s", model_text(json, "command"));
	for (size_t i = 0; i < model_length(caches); i++, place++) {
		struct json_object *cache = json_object_array_get_idx(caches, i);

		if (!find_name(samples, model_text(cache, "name"), &place))
			return "does not fit into memory";
		sample->readings[sample->count++] =
			(struct reading){place, model_number(cache, "objects"),
					 model_number(cache, "bytes"), model_number(cache, "used")};
	}
	return NULL;
}

static bool read_lines(struct samples *samples, const char *path, FILE *file)
{
	char *line = NULL;
	size_t capacity = 0, number = 0;
	const char *wrong = NULL;
	ssize_t size;

	while (!wrong && (size = getline(&line, &capacity, file)) > 0) {
		struct json_object *json = json_tokener_parse(line);
		bool cut = line[size - 1] != '\n' && !json;

		number++;
		if (cut && strncmp(line, RECORDING_START,
				   (size_t)size < sizeof(RECORDING_START) - 1
					   ? (size_t)size
					   : sizeof(RECORDING_START) - 1) == 0)
			fail("%s: the last line, %zu, is incomplete and is ignored", path, number);
		else
			wrong = load_sample(samples, json);
		json_object_put(json);
	}
	free(line);
	if (wrong)
		fail("%s: line %zu %s", path, number, wrong);
	else if (ferror(file))
		fail("%s cannot be read: %s", path, strerror(errno));
	return !wrong && !ferror(file);
}

bool samples_read(struct samples *samples, const char *path)
{
	FILE *file = fopen(path, "re");
	size_t before = samples->count;
	bool done;

	if (!file) {
		fail("%s cannot be opened: %s", path, strerror(errno));
		return false;
	}
	done = read_lines(samples, path, file);
	fclose(file);
	if (!done || samples->count > before)
		return done;
	fail("%s has no samples; slabinfo --record=%s takes some", path, path);
	return false;
}

static int compare_samples(const void *left, const void *right)
{
	const struct sample *a = left, *b = right;

	if (a->ms != b->ms)
		return a->ms < b->ms ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

void samples_sort(struct samples *samples)
{
	if (samples->count)
		qsort(samples->samples, samples->count, sizeof(*samples->samples), compare_samples);
}

void samples_free(struct samples *samples)
{
	for (size_t i = 0; i < samples->count; i++)
		free(samples->samples[i].readings);
	for (size_t i = 0; i < samples->names_count; i++)
		free(samples->names[i]);
	free(samples->samples);
	free(samples->names);
}
