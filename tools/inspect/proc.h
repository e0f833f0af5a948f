/* SPDX-License-Identifier: MIT */
/* What /proc says about a process. */
#pragma once

#include "posix.h"

/* proc_line: the first line of /proc/PID/NAME, made printable; "": it cannot be read. */
void proc_line(pid_t pid, const char *name, char *text, size_t size);

/* proc_state: the letter that ps shows: R, S, D, T, t, Z …; 0: no such process. */
char proc_state(pid_t pid);

/* proc_thread_has_ended: the first thread of a process stays as a zombie if it ended before the
 * others. */
bool proc_thread_has_ended(pid_t tid);

/* proc_is_stopped: is the process stopped by a signal or a debugger? */
bool proc_is_stopped(pid_t pid);

/* proc_thread: a thread of the process that has not ended: its memory is that of the process. 0:
 * none. */
pid_t proc_thread(pid_t pid);

/* proc_is_gone: has the process ended, even if its parent has not waited for it yet? */
bool proc_is_gone(pid_t pid);

/* proc_status_number: the last of up to `most` numbers in the line of /proc/PID/status that begins
 * with key, "RssAnon:"; -1: there is none. */
long proc_status_number(pid_t pid, const char *key, int most);

/* proc_started: when it began, in the kernel's ticks: with the pid it names one process; 0:
 * unknown. */
uint64_t proc_started(pid_t pid);

/* Which program a process runs. */
struct proc_identity {
	uint64_t started;
	unsigned char auxv[512]; /* with random addresses; 0: this user may not know */
};
void proc_identify(pid_t pid, struct proc_identity *identity);

/* proc_change: what has become of the process, to follow its name in a message; NULL: it runs the
 * same program. */
const char *proc_change(pid_t pid, const struct proc_identity *was);

/* proc_user: the effective user of a process; -1: unknown. */
long proc_user(pid_t pid);

/* proc_inner_pid: the pid of a process in its own container (its innermost pid namespace);
 * -1: unknown. */
pid_t proc_inner_pid(pid_t pid);

/* proc_link: where a link of /proc/PID leads, such as "exe"; "" and false: it cannot be read. */
bool proc_link(pid_t pid, const char *link, char target[PATH_MAX]);

/* proc_differs: does a link, such as "root" or "ns/mnt", lead elsewhere than that of this
 * process? */
bool proc_differs(pid_t pid, const char *link);

/* proc_has_name: is `name` the name that ps shows, or the last part of argv[0], which ps may
 * truncate? */
bool proc_has_name(pid_t pid, const char *name);

/* proc_has_program: is it a process and not a kernel thread? */
bool proc_has_program(pid_t pid);

/* proc_has_variable: does its initial environment contain NAME=VALUE? */
bool proc_has_variable(pid_t pid, const char *name, const char *value);

/* proc_each: call fn for each number in a folder of /proc/PID, "task" or "fd"; of pid 0 and "": for
 * each process. proc_lines: call fn for each line of a file, without its end. Both end when fn
 * returns something but 0, and return that; -errno: the folder or file cannot be read. */
int proc_each(pid_t pid, const char *folder, int (*fn)(int number, void *arg), void *arg);
int proc_lines(pid_t pid, const char *name, int (*fn)(char *line, void *arg), void *arg);
