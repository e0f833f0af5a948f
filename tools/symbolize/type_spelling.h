/* SPDX-License-Identifier: MIT */
/* The spelling of C++ templates, in which clang's tokens and DWARF differ. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* From "vector<int, std::allocator<int> >" to "vector<int>". false: the name is not a type's, or too
 * long. */
bool type_spelling(char *to, size_t size, const char *name);
