/* SPDX-License-Identifier: MIT */
/*
 * The words that a process has given to the kernel, and gets back later: a pointer may be nowhere
 * else meanwhile.
 */
#pragma once

#include "freeze.h"

struct kernel_words {
	uint64_t *word;
	size_t count, room;
	unsigned hidden; /* the kernel has more and tells nobody: flags as in memory.h */
	int *epoll;      /* descriptors */
	size_t epolls, epoll_room;
};

/* kernel_words_find: find the descriptors that matter, which takes long if there are many: before
 * the process stands still. kernel_words_read: the words of a process that does. Both return 0 or
 * -errno. kernel_words_free() must be called in any case. */
int kernel_words_find(struct kernel_words *words, pid_t pid);
int kernel_words_read(struct kernel_words *words, const struct frozen *frozen);
void kernel_words_free(struct kernel_words *words);
