/* SPDX-License-Identifier: MIT */
/* What fits into an entry: the sources report what does not. */
#ifndef DIRECTORY_ENTRY_LIMITS_H
#define DIRECTORY_ENTRY_LIMITS_H

#define ATTRIBUTE_TYPE_MAX 95
#define DN_MAX_LENGTH 1000
#define NAME_MAX_LENGTH 256

#endif /* DIRECTORY_ENTRY_LIMITS_H */
