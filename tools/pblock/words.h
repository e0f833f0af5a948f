/* SPDX-License-Identifier: MIT */
#ifndef PBLOCK_WORDS_H
#define PBLOCK_WORDS_H

/* name_of_file: what is shown for a file that has no other name: its own, without folder
 * and this ending, fit for a terminal. The caller frees it; NULL: no memory. */
char *name_of_file(const char *path, const char *ending);

#endif /* PBLOCK_WORDS_H */
