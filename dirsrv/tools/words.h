/* SPDX-License-Identifier: MIT */
/* Names of files, as reports show them. */
#ifndef PBLOCK_WORDS_H
#define PBLOCK_WORDS_H

/* name_of_file: the name that reports show for a file: its own name without directory and without
 * this ending, made printable. The caller frees it; NULL: no memory. */
char *name_of_file(const char *path, const char *ending);

#endif /* PBLOCK_WORDS_H */
