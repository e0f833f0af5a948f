/* SPDX-License-Identifier: MIT */
/* A library that frees memory of the program, and gives it memory of its own. */
#include <stdlib.h>
#include <string.h>

void deepbind_free(void *ptr);
char *deepbind_text(void);

void deepbind_free(void *ptr)
{
	free(ptr);
}

char *deepbind_text(void)
{
	return strdup("text of a library");
}
