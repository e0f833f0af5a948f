/* SPDX-License-Identifier: MIT */
/*
 * The words that a process has given to the kernel, and gets back later: a pointer may be nowhere else
 * meanwhile.
 */
#ifndef INSPECT_KERNEL_WORDS_H
#define INSPECT_KERNEL_WORDS_H

#include "freeze.h"

struct kernel_words {
	uint64_t *word;
	size_t count, room;
	unsigned hidden; /* the kernel has more and tells nobody: flags as in memory.h */
};

/* kernel_words_read: the words of a process that stands still. Returns 0 or -errno; -ETIMEDOUT: the
 * deadline is over. kernel_words_free() must be called in any case. */
int kernel_words_read(struct kernel_words *words, const struct frozen *frozen,
		      uint64_t deadline_us);
void kernel_words_free(struct kernel_words *words);

#endif /* INSPECT_KERNEL_WORDS_H */
