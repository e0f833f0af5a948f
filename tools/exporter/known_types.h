/* SPDX-License-Identifier: MIT */
/*
 * Names of types. The child that queries a process finds them in the process's files, which takes
 * long. So it sends what it found, and the children of later scrapes know it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The most bytes that known_types_send() writes. */
#define TYPES_BYTES_MAX ((size_t)4096 * 80)

/* In a child, before its query: show caches with the names of their types. */
void known_types_begin(void);
/* In a child: write what the exporter does not know yet. false: the reader closed the pipe. */
bool known_types_send(int fd);

/* In the exporter: keep what a child has sent. */
void known_types_learn(const char *data, size_t length);
/* The query of this process took too long: the next ones do not look for names. */
void known_types_give_up(pid_t pid);
