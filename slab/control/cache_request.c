/* SPDX-License-Identifier: MIT */
/* How requests of the control socket find and pin the cache that they name, and what their client
 * may. */
#define _GNU_SOURCE
#include "control/cache_request.h"
#include "base/libc.h"
#include "base/options.h"
#include "core/registry.h"
#include "control/reply.h"

static bool peer_has_rights; /* the serving thread alone uses it */

void control_set_rights(bool has_rights)
{
	peer_has_rights = has_rights;
}

bool control_may_harm(void)
{
	return peer_has_rights || slab_options()->control == SLAB_CONTROL_FULL;
}

struct slab_cache *control_find(struct slab_json *reply, const char *name, struct pin *pin)
{
	struct slab_cache *cache = registry_find_pinned(pin, name);

	if (!cache)
		slab_control_refuse(reply, "no cache is called \"%s\"", name);
	return cache;
}

bool control_on_cache(struct slab_json *reply, const char *command, const char *name,
		      long (*act)(struct slab_cache *cache, void *arg), void *arg)
{
	struct pin pin;
	struct slab_cache *cache = control_find(reply, name, &pin);
	long result;

	if (!cache)
		return false;
	result = act(cache, arg);
	cache_unpin(&pin);
	if (result >= 0)
		return true;
	slab_control_refuse(reply, "%s of \"%s\" failed: %s", command, name,
			    strerrordesc_np((int)-result));
	return false;
}
