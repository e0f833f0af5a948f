/* SPDX-License-Identifier: MIT */
/* A library that can be preloaded, and has no malloc(). */
extern const int useless_allocator;
const int useless_allocator = 1;
