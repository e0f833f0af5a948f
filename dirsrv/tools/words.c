/* SPDX-License-Identifier: MIT */
/* Names of files, as reports show them. */
#include "words.h"
#include "printable.h"

#include <string.h>

char *name_of_file(const char *path, const char *ending)
{
	const char *slash = strrchr(path, '/'), *start = slash ? slash + 1 : path;
	size_t len = strlen(start), cut = strlen(ending);
	char *name;

	if (len > cut && strcmp(start + len - cut, ending) == 0)
		len -= cut;
	name = strndup(start, len);
	if (name)
		make_printable(name);
	return name;
}
