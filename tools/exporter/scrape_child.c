/* SPDX-License-Identifier: MIT */
/* The work of a scrape's children, and their output to the parent. */
#include "scrape_child.h"
#include "job.h"
#include "peer.h"
#include "memory.h"
#include "known_types.h"

static bool is_listed(const struct found *found, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++) {
		if (found[i].pid == pid)
			return true;
	}
	return false;
}

struct find {
	const struct settings *settings;
	struct found found[MOST_FOUND];
	size_t count;
};

static void find_named(struct find *find, const char *name)
{
	const struct choice choice = {.name = name, .memory = true, .unseen = true};
	struct process_list list;

	attach_find(&list, &choice);
	for (size_t i = 0; i < list.count && find->count < MOST_FOUND; i++) {
		const struct process *process = &list.processes[i];
		struct found *found = &find->found[find->count];

		if (is_listed(find->found, find->count, process->pid))
			continue;
		found->pid = process->pid;
		found->unseen = process->unseen;
		found->started = proc_started(process->pid);
		snprintf(found->command, sizeof(found->command), "%.*s", METRICS_NAME - 1,
			 process->command);
		find->count++;
	}
	attach_free(&list);
}

/* Processes with a socket first, so that slow ones do not delay them. */
static int compare_found(const void *a, const void *b)
{
	const struct found *left = a, *right = b;

	if (left->unseen != right->unseen)
		return left->unseen ? 1 : -1;
	return (left->pid > right->pid) - (left->pid < right->pid);
}

void find_processes(const void *arg, int fd)
{
	static struct find find;
	const struct settings *settings = arg;
	char message[SENTENCE];

	find.settings = settings;
	fail_capture(message, sizeof(message));
	if (!settings->names[0])
		find_named(&find, NULL);
	for (size_t i = 0; settings->names[i]; i++)
		find_named(&find, settings->names[i]);
	qsort(find.found, find.count, sizeof(find.found[0]), compare_found);
	job_write(fd, find.found, find.count * sizeof(find.found[0]));
}

/* An unusable answer: the message of fail() has the reason, but not the process. */
static void name_process(const struct process *process, char message[SENTENCE])
{
	char why[SENTENCE];

	memcpy(why, message, sizeof(why));
	snprintf(message, SENTENCE, "process %d (%s): %.400s", (int)process->pid, process->command,
		 why);
}

/* Add the answer of another copy of libslab, in this file, to that of the first: its caches are
 * called NAME@FILE. */
static void add_copy(struct json_object *answer, struct json_object *other, const char *file)
{
	static const char *const sums[] = {"slab_bytes", "cached_bytes", "large_bytes",
					   "metadata_bytes"};
	struct json_object *process = model_member(answer, "process");
	struct json_object *caches = model_member(other, "caches");
	const char *slash = strrchr(file, '/');
	char name[2 * METRICS_NAME];

	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		model_add_number(process, sums[i],
				 model_number(process, sums[i]) +
					 model_number(model_member(other, "process"), sums[i]));
	for (size_t i = 0; i < model_length(caches); i++) {
		struct json_object *cache = json_object_array_get_idx(caches, i);

		snprintf(name, sizeof(name), "%.*s@%.*s", METRICS_NAME, model_text(cache, "name"),
			 METRICS_NAME - 2, slash ? slash + 1 : file);
		model_add_text(cache, "name", name);
		json_object_array_add(model_member(answer, "caches"), json_object_get(cache));
	}
}

/* The statistics of a process, of all its copies of libslab. */
static struct json_object *query_stats(struct process *process)
{
	struct json_object *answer = attach_query(process, "stats", NULL), *other;
	const unsigned copies = process->memory ? memory_copies(process->memory) : 0;

	for (unsigned number = 2; answer && number <= copies; number++) {
		memory_use_copy(process->memory, number);
		other = attach_query(process, "stats", NULL);
		if (other)
			add_copy(answer, other, memory_copy_path(process->memory, number));
		json_object_put(other);
	}
	return answer;
}

/* False: the message has the reason. */
static bool take_metrics(const struct question *question, struct metrics *metrics,
			 char message[SENTENCE])
{
	const struct choice choice = {.pid = question->process.pid};
	struct json_object *answer;
	struct process process;
	struct model model;
	bool taken;

	fail_capture(message, SENTENCE);
	known_types_begin();
	if (attach_choose(&choice, &process) >= 0)
		return false;
	answer = query_stats(&process);
	taken = answer && model_load(&model, answer) &&
		metrics_take(metrics, &process, &model, question->settings->max_caches);
	if (answer && !taken)
		name_process(&process, message);
	attach_close(&process);
	return taken;
}

/* In a container it may listen where only it sees the socket. */
static bool has_caches(pid_t pid)
{
	char path[PATH_MAX];

	return memory_uses_libslab(pid) || listening_path(pid, path);
}

void query_process(const void *arg, int fd)
{
	static char answer[1 + SENTENCE] = {ANSWER_SENTENCE};
	const struct question *question = arg;
	struct metrics metrics;

	if (question->process.unseen && !has_caches(question->process.pid)) {
		answer[0] = ANSWER_NOTHING;
		job_write(fd, answer, 1);
		return;
	}
	if (!take_metrics(question, &metrics, answer + 1)) {
		job_write(fd, answer, strlen(answer));
		return;
	}
	answer[0] = ANSWER_METRICS;
	if (job_write(fd, answer, 1) && job_write(fd, &metrics, sizeof(metrics)) &&
	    job_write(fd, metrics.cache, metrics.count * sizeof(metrics.cache[0])))
		known_types_send(fd);
}
