/* SPDX-License-Identifier: MIT */
/*
 * The difference between the tools and those that tests of views run: a process that has no libslab
 * but listens on a socket answers there what is read of others, so that a test can script its
 * numbers.
 */
#include "memory.h"
#include "query.h"

struct json_object *__real_query_memory(struct process *process, const char *request);
struct json_object *__wrap_query_memory(struct process *process, const char *request);

struct json_object *__wrap_query_memory(struct process *process, const char *request)
{
	if (process->way != WAY_SOCKET || process->memory || memory_uses_libslab(process->pid))
		return __real_query_memory(process, request);
	return query_socket(process, request, AT_ONCE_SECONDS);
}
