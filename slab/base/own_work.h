/* SPDX-License-Identifier: MIT */
/*
 * Work that libslab does by itself, and that may call callbacks of the program: periodic work and
 * requests over the control socket. It ends when exit() begins, before the program's destructors of
 * static objects: a callback may use these objects. Calls of the program go on as they are.
 */
#pragma once

#include <stdbool.h>

/* Around such work; the pairs nest. false: exit() has begun, and the caller does nothing. */
bool own_work_begin(void);
void own_work_end(void);

/* Does the calling thread do such work, and has exit() begun? Long work asks this between
 * callbacks, and ends. */
bool own_work_must_end(void);

/* Sleep while exit() runs. */
void own_work_wait_while_exiting(void);

/*
 * exit() runs handlers last in, first out. So the program's first callback is the latest moment to
 * register one. Not from code that malloc() reaches: atexit() holds a lock while it allocates.
 */
void own_work_watch_exit(void);
/* glibc's exit() first runs the thread-local destructors of the calling thread. For the main
 * thread, which calls this: end the work then. So it ends before the destructor of a static object
 * whose constructor created the cache. pthread_exit() runs them, too: call own_work_resume()
 * afterwards. */
void own_work_watch_main_thread(void);
void own_work_resume(void);

/* In the child of a fork: other threads do no work, and are not in exit(). */
void own_work_after_fork_child(void);
