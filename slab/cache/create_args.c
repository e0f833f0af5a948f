/* SPDX-License-Identifier: MIT */
/*
 * The check of slab_cache_create()'s arguments. Each failure has a reason as text, which
 * slab_create_error() returns.
 */
#include "cache/create_args.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define FLAGS_KNOWN                                                                                \
	(SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER | SLAB_TRACE |    \
	 SLAB_FAILSLAB | SLAB_HWCACHE_ALIGN | SLAB_TYPESAFE_BY_RCU | SLAB_PANIC | SLAB_ZERO |      \
	 SLAB_RECLAIM_ACCOUNT | SLAB_HARDEN_FREE | SLAB_APART)

static __thread const char *last_error __attribute__((tls_model("initial-exec")));

void create_args_set_error(const char *reason)
{
	last_error = reason;
}

const char *slab_create_error(void)
{
	return last_error;
}

/* The application may be compiled with a newer struct slab_cache_args: members that this version
 * does not know must be zero. */
const char *create_args_read(struct slab_cache_args *args, const struct slab_cache_args *from,
			     size_t bytes)
{
	memset(args, 0, sizeof(*args));
	if (!from)
		return NULL;
	for (size_t i = sizeof(*args); i < bytes; i++)
		if (((const char *)from)[i])
			return "args has a member that this version of libslab does not know";
	memcpy(args, from, bytes < sizeof(*args) ? bytes : sizeof(*args));
	return NULL;
}

/* Names such as "size-64" are reserved for the caches of <slab/malloc.h>. */
static bool is_size_name(const char *name)
{
	return strncmp(name, "size-", 5) == 0 && isdigit((unsigned char)name[5]);
}

static const char *check_name(const char *name)
{
	if (!name || !*name)
		return "the cache has no name";
	if (strnlen(name, SLAB_MAX_NAME + 1) > SLAB_MAX_NAME)
		return "the name has more than 63 characters";
	for (; *name && isgraph((unsigned char)*name); name++)
		;
	if (*name)
		return "the name has a blank, or a character that cannot be printed";
	return NULL;
}

_Static_assert(SLAB_MAX_NAME == 63 && SLAB_MAX_OBJECT_SIZE == 32768 && SLAB_MAX_ALIGN == 4096,
	       "as the sentences say");

static const char *check_sizes(size_t size, size_t align)
{
	if (!size)
		return "the size is 0";
	if (size > SLAB_MAX_OBJECT_SIZE)
		return "the size is more than 32768 bytes";
	if (align & (align - 1))
		return "args.align is not a power of two";
	if (align > SLAB_MAX_ALIGN)
		return "args.align is more than 4096 bytes";
	return NULL;
}

static const char *check_members(const struct slab_cache_args *args, uint64_t flags)
{
	if (flags & ~FLAGS_KNOWN)
		return "flags has a bit that this version of libslab does not know";
	if (args->ctor && flags & SLAB_ZERO)
		return "SLAB_ZERO excludes args.ctor";
	if (flags & SLAB_TYPESAFE_BY_RCU && !args->rcu)
		return "SLAB_TYPESAFE_BY_RCU needs args.rcu";
	if (!args->isolate != !args->migrate)
		return "args.isolate and args.migrate need each other";
	if (args->migrate && !args->ctor)
		return "args.migrate needs args.ctor";
	return NULL;
}

const char *create_args_check(const char *name, size_t size, const struct slab_cache_args *args,
			      uint64_t flags)
{
	const char *reason = check_name(name);

	if (!reason && is_size_name(name))
		reason = "names \"size-NUMBER\" are reserved";
	if (!reason)
		reason = check_sizes(size, args->align);
	return reason ? reason : check_members(args, flags);
}
