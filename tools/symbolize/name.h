/* SPDX-License-Identifier: MIT */
/*
 * Readable names of functions.
 */
#pragma once

/*
 * name_readable: a copy of a name, which the caller frees. C++ names are demangled, without
 * arguments, template arguments, anonymous namespaces and result types. NULL: no memory, or
 * no name.
 */
char *name_readable(const char *name);
