/* SPDX-License-Identifier: MIT */
/* vfork(), where it needs a definition of its own (vfork.c): on x86-64 and aarch64. */
#pragma once

/* Find out whether the C library registers restartable sequences. */
void vfork_init(void);
