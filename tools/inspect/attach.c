/* SPDX-License-Identifier: MIT */
/*
 * Choosing a process or a core file, and listing processes. query.c queries them.
 */
#include "attach.h"
#include "aliases.h"
#include "find.h"
#include "memory.h"
#include "query.h"

void attach_find(struct process_list *list, const struct choice *choice)
{
	*list = (struct process_list){NULL, 0};
	find_sockets(list, choice);
	if (!choice->pid || choice->memory)
		find_others(list, choice);
	find_sort(list);
}

void attach_free(struct process_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		attach_close(&list->processes[i]);
	free(list->processes);
	*list = (struct process_list){NULL, 0};
}

void attach_close(struct process *process)
{
	memory_close(process->memory);
	process->memory = NULL;
	aliases_free(process);
}

/* Report why no process was found. */
static int fail_none(const struct choice *choice)
{
	if (choice->pid)
		fail("process %d has no slab caches, or belongs to another user", choice->pid);
	else if (choice->name)
		fail("no process called \"%s\" has slab caches; --list shows those that do",
		     choice->name);
	else
		fail("no process has slab caches");
	return EXIT_USAGE;
}

/* Behind the line of a process that has several copies of libslab: " 1:FILE 2:FILE". */
static void print_copies(FILE *out, pid_t pid)
{
	struct memory *memory = memory_look(pid);
	const unsigned copies = memory ? memory_copies(memory) : 0;

	for (unsigned number = 1; copies > 1 && number <= copies; number++)
		fprintf(out, " %u:%s", number, memory_copy_path(memory, number));
	memory_close(memory);
}

static void print_processes(FILE *out, const struct process_list *list)
{
	fprintf(out, "%10s  %-15s  %s\n", "PID", "COMMAND", "HOW");
	for (size_t i = 0; i < list->count; i++) {
		const struct process *process = &list->processes[i];

		fprintf(out, "%10d  %-15s  %s", process->pid, process->command,
			process->way == WAY_SOCKET ? "socket" : "memory");
		print_copies(out, process->pid);
		fputc('\n', out);
	}
}

/* Choosing */

static int choose_core(const struct choice *choice, struct process *process)
{
	memset(process, 0, sizeof(*process));
	process->way = WAY_CORE;
	process->memory = memory_open_core(choice->core, choice->exe);
	if (!process->memory)
		return EXIT_USAGE;
	process->pid = memory_pid(process->memory);
	snprintf(process->path, sizeof(process->path), "%s", choice->core);
	snprintf(process->command, sizeof(process->command), "%s", memory_command(process->memory));
	process->copy = choice->copy;
	if (query_use_copy(process))
		return -1;
	attach_close(process);
	return EXIT_USAGE;
}

/* Find the processes that match the choice. If none has a socket, processes without one are
 * searched, too. */
static void find_meant(struct process_list *list, const struct choice *choice)
{
	struct choice all = *choice;

	attach_find(list, choice);
	if (list->count || choice->pid)
		return;
	attach_free(list);
	all.memory = true;
	attach_find(list, &all);
}

/* Choose the only process that matches; it is an error if there are several. */
static int take_one(const struct choice *choice, struct process *process)
{
	struct process_list list;
	int status = -1;

	find_meant(&list, choice);
	if (list.count == 1) {
		*process = list.processes[0];
	} else if (list.count > 1) {
		fail("several processes have slab caches; choose one with --pid");
		print_processes(stderr, &list);
		status = EXIT_USAGE;
	} else if (choice->pid) {
		find_listener(process,
			      choice->pid); /* opening its memory shows whether it has caches */
	} else {
		status = fail_none(choice);
	}
	attach_free(&list);
	return status;
}

int attach_choose(const struct choice *choice, struct process *process)
{
	int status;

	if (choice->core)
		return choose_core(choice, process);
	status = take_one(choice, process);
	if (status >= 0)
		return status;
	process->acts = choice->acts;
	process->copy = choice->copy;
	if (choice->memory)
		process->way = WAY_MEMORY;
	else if (process->way == WAY_MEMORY && process->path[0] && process->acts) {
		query_report_silent(process);
		return EXIT_USAGE;
	}
	if (process->way == WAY_SOCKET && process->acts && !query_answers(process))
		return EXIT_USAGE;
	if (process->way == WAY_MEMORY && !query_open(process)) {
		attach_close(process);
		return EXIT_USAGE;
	}
	return -1;
}

bool attach_stand_still(struct process *process, struct snapshot *snapshot)
{
	struct memory *memory;

	if (process->way == WAY_CORE)
		return true;
	memory = memory_open_snapshot(process->pid, snapshot);
	if (!memory)
		return false;
	attach_close(process);
	process->memory = memory;
	process->way = WAY_MEMORY;
	return query_use_copy(process);
}

int attach_list(const struct choice *choice)
{
	struct choice all = *choice;
	struct process_list list;
	int status = EXIT_DONE;

	all.memory = true;
	attach_find(&list, &all);
	if (list.count > 0)
		print_processes(stdout, &list);
	else
		status = fail_none(choice);
	attach_free(&list);
	return status;
}
