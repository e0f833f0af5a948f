/* SPDX-License-Identifier: MIT */
/*
 * Tuning a process: --set CACHE.ATTRIBUTE=VALUE, --reset, --trim. The process checks the
 * value; this file only parses the command line.
 */
#include "select.h"
#include "views.h"

#include <strings.h>

/* --set's argument in parts. Names of caches may hold dots and equals signs, those of
 * attributes and values do not. */
struct setting {
	char *cache, *attribute, *value; /* of one piece of memory, which starts at cache */
};

static bool is_word(const char *text)
{
	return text[strspn(text, "abcdefghijklmnopqrstuvwxyz_")] == '\0';
}

static bool split(const char *text, struct setting *setting)
{
	char *copy = strdup(text), *equals, *dot;

	if (!copy)
		return false;
	equals = strrchr(copy, '=');
	if (equals)
		*equals = '\0';
	dot = equals ? strrchr(copy, '.') : NULL;
	if (!dot || dot == copy || dot + 1 == equals || !equals[1] || !is_word(dot + 1)) {
		free(copy);
		return false;
	}
	*dot = '\0';
	*setting = (struct setting){copy, dot + 1, equals + 1};
	return true;
}

/* The power of two of a unit of bytes, as in SLAB_LIMIT: K, M or G, or KiB, MiB or GiB; 0 of
 * none at all; -1: not a unit. */
static int unit_shift(const char *unit)
{
	static const char letters[] = "kmg";
	const char *letter;

	if (!*unit)
		return 0;
	letter = strchr(letters, tolower((unsigned char)*unit));
	if (!letter || (unit[1] && strcasecmp(unit + 1, "ib") != 0))
		return -1;
	return 10 * (int)(letter - letters + 1);
}

/* "64M": 64 << 20. The process refuses values that the attribute cannot have. */
static bool parse_value(const struct setting *setting, uint64_t *value)
{
	int shift;
	char *end;

	errno = 0;
	*value = strtoull(setting->value, &end, 10);
	shift = unit_shift(end);
	if (!isdigit((unsigned char)*setting->value) || errno || shift < 0 ||
	    *value > (uint64_t)INT64_MAX >> shift)
		return false;
	*value <<= shift;
	return true;
}

/* EXIT_DONE: the process has a cache of this name. */
static int look_for(struct process *process, const char *name)
{
	struct json_object *answer = attach_query(process, "stats", NULL);
	bool found;

	if (!answer)
		return EXIT_USAGE;
	found = select_has(answer, name);
	json_object_put(answer);
	if (!found)
		fail("no cache of process %d (%s) is called \"%s\"", process->pid, process->command,
		     name);
	return found ? EXIT_DONE : EXIT_NOTHING;
}

static int set(struct process *process, const struct setting *setting, uint64_t value)
{
	struct json_object *answer;
	char request[128];
	int status = look_for(process, setting->cache);

	if (status != EXIT_DONE)
		return status;
	snprintf(request, sizeof(request), "set %.64s %" PRIu64, setting->attribute, value);
	answer = attach_query(process, request, setting->cache);
	if (!answer)
		return EXIT_USAGE;
	printf("%-21s %s %" PRIu64 " -> %" PRIu64 "\n", setting->cache, setting->attribute,
	       model_number(answer, "before"), model_number(answer, "after"));
	json_object_put(answer);
	return EXIT_DONE;
}

static bool is_flags(const char *attribute)
{
	return strcmp(attribute, "debug") == 0 || strcmp(attribute, "debug_flags") == 0;
}

int action_set(const struct options *options, struct process *process)
{
	char pattern[PATTERN_TEXT];
	struct setting setting;
	int status = EXIT_USAGE;
	uint64_t value;

	if (!split(options->set, &setting)) {
		fail("\"%s\" does not say what to set; --set takes CACHE.ATTRIBUTE=VALUE",
		     options->set);
		return EXIT_USAGE;
	}
	if (is_flags(setting.attribute))
		fail("debug flags are set with -d: slabinfo -dfzpu %s",
		     select_pattern(pattern, setting.cache));
	else if (!parse_value(&setting, &value))
		fail("\"%s\" is not a value for %s; --set takes a number, also in K, M, G, KiB, "
		     "MiB or GiB",
		     setting.value, setting.attribute);
	else
		status = set(process, &setting, value);
	free(setting.cache);
	return status;
}

int action_reset(struct process *process, const struct model *model)
{
	size_t done = 0, left = 0;

	for (size_t i = 0; i < model->count; i++) {
		bool gone;
		struct json_object *answer =
			select_query(process, "reset", model->caches[i].name, &gone);

		done += answer != NULL;
		left += gone;
		json_object_put(answer);
	}
	printf("%zu cache%s counting events from 0 again\n", done, done == 1 ? " is" : "s are");
	return done + left == model->count ? EXIT_DONE : EXIT_NOTHING;
}

int action_trim(struct process *process)
{
	struct json_object *answer = attach_query(process, "trim", NULL);
	uint64_t slabs;

	if (!answer)
		return EXIT_USAGE;
	slabs = model_number(answer, "slabs");
	printf("Process %d (%s) released %" PRIu64 " slab%s\n", process->pid, process->command,
	       slabs, plural(slabs));
	json_object_put(answer);
	return EXIT_DONE;
}
