/* SPDX-License-Identifier: MIT */
/* What the files of libslab-389ds.so share. */
#pragma once

#include <slab/slab.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- types of 389-ds ---------------------------------------------------------------------- */

/* The table of 389-ds's types: which function allocates which. */
struct type {
	const char *function; /* "charray_*": all whose names begin so */
	const char *name;
	size_t size;    /* the type that has this size; 0: the function allocates one type */
	bool has_sizes; /* the type has no fixed size: a cache for each class of sizes */
};

extern const struct type types[]; /* the last one has no function */

/* --- names of caches ---------------------------------------------------------------------- */

/*
 * Names of caches: of a type, by the table of the functions that allocate it, or of the function
 * itself.
 */
#define NAME_LENGTH 64u

/* The largest size that a cache serves. */
#define SIZE_LIMIT ((size_t)1024)

/* A cache that a call site should have. */
struct cache_name {
	char text[NAME_LENGTH];
	size_t size;  /* of its objects */
	bool is_type; /* from the table */
	bool has_sizes; /* one of several caches of the type */
};

/* What the code at `code` allocates with this size: the address is a return address, or the
 * function itself. */
void name_site(struct cache_name *name, const void *code, size_t size);

/* What slapi_ch_strdup() allocates. */
void name_string(struct cache_name *name, size_t size);

/* "value" becomes "value-32": the name belongs to a cache of another size. */
void name_append_size(struct cache_name *name);

/* --- caches ------------------------------------------------------------------------------- */

/* The caches of this library, at most SLAB_389DS_CACHES. They are never destroyed. */
/* --- call sites --------------------------------------------------------------------------- */

/*
 * Call sites: which cache serves the allocations of a size that one place of the code makes. A
 * lookup takes no lock. A type of one size has a cache from its first allocation on. Sites of
 * types of many sizes, and those that no type is known of, get one when they have allocated often
 * enough: what a server allocates only when it starts shall not use up the number of caches.
 */
#define SITE_OFTEN 64u       /* of a type of many sizes */
#define SITE_VERY_OFTEN 512u /* of no known type */

struct site {
	uint64_t key;    /* address and size; 0: unused */
	uintptr_t state; /* a cache, SITE_UNTYPED, or how often it has allocated */
};

/* A site whose memory malloc() serves for good. */
#define SITE_UNTYPED ((uintptr_t)4095)
#define SITE_IS_CACHE(state) ((state) > SITE_UNTYPED)

#define SITE_ROOM 8192u /* 2^13: site_place() */

extern struct site sites[SITE_ROOM];

static inline uint64_t site_key(const void *caller, size_t size)
{
	return (uint64_t)(uintptr_t)caller << 8 | (size + 7) / 8;
}

/* Where the search for a key begins. */
static inline unsigned site_place(uint64_t key)
{
	return (unsigned)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 51);
}

/* site_cache() of a site that has no cache, or stands elsewhere. */
struct slab_cache *site_cache_slow(const void *caller, size_t size);

/* The cache for `size` bytes for code that returns to `caller`, NULL: malloc() serves them. */
static inline struct slab_cache *site_cache(const void *caller, size_t size)
{
	const uint64_t key = site_key(caller, size);
	const struct site *site = &sites[site_place(key)];
	uintptr_t state;

	if (__builtin_expect(size - 1 < SIZE_LIMIT, 1) &&
	    __builtin_expect(__atomic_load_n(&site->key, __ATOMIC_RELAXED) == key, 1)) {
		state = __atomic_load_n(&site->state, __ATOMIC_ACQUIRE);
		if (__builtin_expect(SITE_IS_CACHE(state), 1))
			return (struct slab_cache *)state;
	}
	return site_cache_slow(caller, size);
}

/* The cache for a string of `size` bytes, NULL as above. */
struct slab_cache *string_cache(size_t size);

/* --- the functions behind ----------------------------------------------------------------- */

/*
 * The functions behind those of this library: what the process would call without it, such as
 * the slapi_ch_malloc() of libslapd and the free() of jemalloc.
 */
enum next_function {
	NEXT_FREE,
	NEXT_REALLOC,
	NEXT_USABLE_SIZE,
	NEXT_CH_MALLOC,
	NEXT_CH_CALLOC,
	NEXT_CH_STRDUP,
	NEXT_PBLOCK_NEW,
	NEXT_OPERATION_PARAMETERS_NEW,
	NEXT_CSN_NEW,
	NEXT_MODS_NEW,
	NEXT_MOD_NEW,
	NEXT_MATCHINGRULE_NEW,
	NEXT_UNIQUEID_NEW,
	NEXT_DATALIST_NEW,
	NEXT_FUNCTIONS
};

typedef void (*next_pointer)(void); /* the caller knows the type */

extern next_pointer next_table[NEXT_FUNCTIONS];

/* Look a function up. NULL while this thread is looking one up already: dlsym() may itself free
 * memory. The process aborts if there is no such function. */
next_pointer next_find(enum next_function function);

static inline next_pointer next_of(enum next_function function)
{
	next_pointer found = __atomic_load_n(&next_table[function], __ATOMIC_RELAXED);

	return __builtin_expect(found != NULL, 1) ? found : next_find(function);
}

/* --- the environment ---------------------------------------------------------------------- */

/* The environment variables of libslab-389ds.so. README.md describes them. */
#define MOST_CACHES 1024u

struct options {
	bool is_read;
	bool is_automatic;   /* SLAB_389DS_NAMES=all */
	unsigned caches;     /* SLAB_389DS_CACHES */
};

extern struct options options;

/* Read the environment, unless that was done. */
void options_read(void);
