/* SPDX-License-Identifier: MIT */
/* Requests that only read, answered from memory by libslab_inspect; and the documents of all
 * answers. */
#include "memory.h"
#include "fail.h"
#include "proc.h"
#include "query.h"

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
		/* The call precedes the return address, which may lie in the next function or
		 * file. */
		path = memory_locate(memory, json_object_get_uint64(address) - 1, &offset);
		if (!path || !is_printable(path)) /* JSON is UTF-8 */
			continue;
		json_object_object_add(frame, "file", json_object_new_string(path));
		json_object_object_add(frame, "offset", json_object_new_uint64(offset + 1));
	}
}

static void locate_sites(struct memory *memory, struct json_object *answer)
{
	struct json_object *sites, *traces;

	if (json_object_object_get_ex(answer, "traces", &traces))
		for (size_t i = 0; i < json_object_array_length(traces); i++)
			locate_sites(memory, json_object_array_get_idx(traces, i));
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
	const char *change =
		process->way == WAY_CORE ? NULL : proc_change(process->pid, &process->identity);
	struct json_object *message = NULL;
	char name[128];

	query_name(process, name);
	json_object_object_get_ex(document, "error", &message);
	if (change)
		fail("%s %s", name, change);
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

static void report_copies(struct process *process)
{
	char name[128];

	query_name(process, name);
	fail("%s has %u copies of libslab; --copy chooses one, and --list shows them", name,
	     memory_copies(process->memory));
}

bool query_use_copy(struct process *process)
{
	char name[128];

	if (!process->copy && memory_copies(process->memory) > 1)
		report_copies(process);
	if (!process->copy)
		process->copy = 1;
	if (process->copy == 1 || memory_use_copy(process->memory, process->copy))
		return true;
	query_name(process, name);
	fail("%s has no copy %u of libslab with caches", name, process->copy);
	return false;
}

bool query_open(struct process *process)
{
	if (process->memory)
		return true;
	process->memory = memory_open_process(process->pid, process->path);
	return process->memory && query_use_copy(process);
}

struct json_object *query_memory(struct process *process, const char *request)
{
	struct json_object *document = NULL;
	struct slab_answer answer = {.text = NULL};
	int error;

	if (!process->memory && proc_is_gone(process->pid)) {
		report_refusal(process, &answer, -ESRCH);
		return NULL;
	}
	if (!query_open(process))
		return NULL;
	error = memory_query(process->memory, request, &answer);
	if (error)
		report_refusal(process, &answer, error);
	else
		document = query_parse(process, answer.text);
	slab_answer_free(&answer);
	if (document)
		locate_sites(process->memory, document);
	return document;
}

/* --- answers of processes --------------------------------------------------------------------- */

void query_name(const struct process *process, char text[128])
{
	snprintf(text, 128, "process %d (%s)", process->pid, process->command);
}

void query_report_silent(const struct process *process)
{
	fail("process %d (%s) is stopped or does not answer; it cannot be changed now",
	     process->pid, process->command);
}

/* Parses an answer: its document if it has "ok"; otherwise NULL, after an error message. */
struct json_object *query_parse(const struct process *process, const char *text)
{
	struct json_object *answer = json_tokener_parse(text), *member;
	char name[128];

	if (json_object_object_get_ex(answer, "ok", &member) && json_object_get_boolean(member))
		return answer;
	query_name(process, name);
	if (json_object_object_get_ex(answer, "error", &member))
		fail("%s: %s", name, json_object_get_string(member));
	else if (proc_is_gone(process->pid))
		fail("%s has ended", name);
	else
		fail("%s sent an answer in an unknown format", name);
	json_object_put(answer);
	return NULL;
}
