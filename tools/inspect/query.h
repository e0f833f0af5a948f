/* SPDX-License-Identifier: MIT */
/* The parts of a query (query.c). */
#pragma once

#include "attach.h"

#define AT_ONCE_SECONDS 2 /* what is answered at once */

/* query_name: what messages call a process. */
void query_name(const struct process *process, char text[128]);

/* query_parse: the document of an answer if it is ok; else NULL, after an error message. */
struct json_object *query_parse(const struct process *process, const char *text);

/* query_open: open the process's memory, and read the copy of libslab that was chosen.
 * query_use_copy: the same with memory that is open. false after an error message. */
bool query_open(struct process *process);
bool query_use_copy(struct process *process);

/* query_memory: answer a request that only reads from the process's memory. query_socket: let the
 * process answer, which begins within `seconds`. NULL after an error message. */
struct json_object *query_memory(struct process *process, const char *request);
struct json_object *query_socket(struct process *process, const char *request, int seconds);

/* query_answers: does the process answer at once? An error message says why not. */
bool query_answers(struct process *process);
void query_report_silent(const struct process *process);
