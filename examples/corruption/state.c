/* SPDX-License-Identifier: MIT */
/* What all threads of the server share, and its end for want of memory. */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>

struct server server;

void *need(void *object)
{
	if (!object) {
		fputs("corruption: out of memory\n", stderr);
		exit(1);
	}
	return object;
}
