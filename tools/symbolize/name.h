/* SPDX-License-Identifier: MIT */
/*
 * Names of functions as people say them.
 */
#ifndef SYMBOLIZE_NAME_H
#define SYMBOLIZE_NAME_H

/*
 * name_readable: a copy of a name, to be given to free(). C++ names are
 * demangled and lose what makes them long: arguments, template arguments,
 * anonymous namespaces, types of results. NULL: no memory, or no name.
 */
char *name_readable(const char *name);

#endif /* SYMBOLIZE_NAME_H */
