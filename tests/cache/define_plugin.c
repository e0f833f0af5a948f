/* SPDX-License-Identifier: MIT */
/* A plug-in with a definition that has a destructor. define_unload.c unloads it. */
#include <slab/define.h>

#include <stdlib.h>

struct object {
	char bytes[100];
};

int plugin_calls;
void plugin_use(void);

static void destroy(void *obj, void *arg)
{
	(void)obj;
	(void)arg;
	plugin_calls++;
}

static const struct slab_cache_args args = {.dtor = destroy};

SLAB_DEFINE_CACHE(of_plugin, struct object, 0, &args);

/* Leaves an empty slab in the cache. */
void plugin_use(void)
{
	struct object *object = of_plugin_alloc();

	if (!object)
		abort();
	of_plugin_free(object);
}
