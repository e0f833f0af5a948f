/* SPDX-License-Identifier: MIT */
/* A library that programs load and unload: it has thread-local data, and allocates. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

char *plugin_copy(const char *text);

static __thread char *last;

char *plugin_copy(const char *text)
{
	free(last);
	last = NULL;
	last = strdup(text);
	return last ? strdup(last) : NULL;
}

__attribute__((destructor)) static void end(void)
{
	free(last);
}
