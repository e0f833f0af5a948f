/* SPDX-License-Identifier: MIT */
/* vfork(), where it needs a definition of its own (vfork.c): on x86-64 and aarch64. */
#ifndef MALLOC_VFORK_H
#define MALLOC_VFORK_H

/* Find out whether the C library registers restartable sequences. */
void vfork_init(void);

#endif /* MALLOC_VFORK_H */
