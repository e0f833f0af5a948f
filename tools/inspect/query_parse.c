/* SPDX-License-Identifier: MIT */
/* Answers of processes, and what messages call these. */
#include "proc.h"
#include "query.h"

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
