/* SPDX-License-Identifier: MIT */
/*
 * A shared library that holds nothing but symbolize().
 */
#pragma once

/* symbolize() for one frame; text has SYMBOL_TEXT bytes. */
__attribute__((visibility("default"))) void symbol_apart(const void *frame, char *text);
