/* SPDX-License-Identifier: MIT */
/*
 * From the tokens of clang's -fsanitize=alloc-token to the names of types. A token is a hash of the
 * name, so the names in DWARF are hashed and compared.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct type_names;

/* type_names_new: NULL when there is no memory. */
struct type_names *type_names_new(void);
void type_names_free(struct type_names *names);

/* The types of an executable or a shared library, whose debug information is found as debuggers do.
 * C++ templates are spelled as clang does, without the default arguments of the C++ library. */
void type_names_add_file(struct type_names *names, const char *path);

/* The types of a text file, one a line, as in C++ without "struct". false: it cannot be read. */
bool type_names_add_list(struct type_names *names, const char *path);

/* The name of a token, as a part of a cache's name: without blanks, 57 characters at most. "conn?":
 * two types of this name have different sizes, and are one to the compiler. NULL: it is unknown. */
const char *type_names_find(struct type_names *names, uint64_t token, char text[64]);
