/* SPDX-License-Identifier: MIT */
/* The environment. */
#include "preload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CACHES 128u

struct options options;

/* Its value; NULL if it is not set or empty. */
static const char *variable(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : NULL;
}

static bool automatic_names(void)
{
	const char *value = variable("SLAB_389DS_NAMES");

	if (!value || strcmp(value, "all") == 0)
		return true;
	if (strcmp(value, "types") == 0)
		return false;
	fprintf(stderr,
		"libslab-389ds: SLAB_389DS_NAMES=%s is not valid; accepted: types, all; using all\n",
		value);
	return true;
}

static unsigned caches(void)
{
	const char *value = variable("SLAB_389DS_CACHES");
	unsigned long number;
	char *end;

	if (!value)
		return DEFAULT_CACHES;
	number = strtoul(value, &end, 10);
	if (*value >= '0' && *value <= '9' && !*end && number <= MOST_CACHES)
		return (unsigned)number;
	fprintf(stderr,
		"libslab-389ds: SLAB_389DS_CACHES=%s is not valid; accepted: a number from 0 to %u; "
		"using %u\n",
		value, MOST_CACHES, DEFAULT_CACHES);
	return DEFAULT_CACHES;
}

void options_read(void)
{
	if (__atomic_load_n(&options.is_read, __ATOMIC_ACQUIRE))
		return;
	options.is_automatic = automatic_names();
	options.caches = caches();
	__atomic_store_n(&options.is_read, true, __ATOMIC_RELEASE);
}
