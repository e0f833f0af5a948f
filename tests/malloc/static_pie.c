/* SPDX-License-Identifier: MIT */
/* A program without a dynamic linker: nothing is preloaded into it. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

int main(void)
{
	char *text = strdup("a text");
	int ok = text && strcmp(text, "a text") == 0;

	free(text);
	return ok ? 0 : 1;
}
