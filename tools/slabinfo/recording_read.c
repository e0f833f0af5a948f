/* SPDX-License-Identifier: MIT */
/* Reading recordings of --record: each line is a sample, one JSON object. A damaged line ends the
 * reading with an error message; an incomplete last line is named and ignored. */
#include "recording.h"
#include "array.h"

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
