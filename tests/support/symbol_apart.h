/* SPDX-License-Identifier: MIT */
/*
 * A shared library that holds nothing but symbolize().
 */
#ifndef TESTS_SUPPORT_SYMBOL_APART_H
#define TESTS_SUPPORT_SYMBOL_APART_H

/* symbolize() for one frame; text has SYMBOL_TEXT bytes. */
__attribute__((visibility("default"))) void symbol_apart(const void *frame, char *text);

#endif /* TESTS_SUPPORT_SYMBOL_APART_H */
