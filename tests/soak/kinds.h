/* SPDX-License-Identifier: MIT */
/* The kinds of objects of the soak: a cache of each kind, and allocations by size. */
#pragma once

#include "oracle.h"

struct slab_cache;

namespace soak
{

enum way {
	FROM_CACHE,  /* slab_alloc() and slab_free() */
	FROM_DEFINED, /* a cache of SLAB_DEFINE_CACHE() */
	FREED_RCU,   /* slab_free_rcu() */
	BY_SIZE,     /* slab_malloc() */
};

struct kind {
	const char *name;
	enum way way;
	std::size_t least, most; /* sizes */
	std::uint64_t flags;
	fresh state;      /* what an object holds when it is allocated */
	unsigned weight;  /* how often a burst is of this kind */
	std::size_t limit, reserve, align;
	bool constructed, rcu, sampled;
};

extern const struct kind kinds[];
extern const unsigned kinds_count;

struct slab_cache *cache_of(unsigned kind); /* NULL: BY_SIZE */

/* Of a kind with a single size. */
inline std::uint32_t object_size(unsigned kind)
{
	return static_cast<std::uint32_t>(kinds[kind].least);
}

/* The kind that threads use for now instead of their own. */
constexpr unsigned no_focus = ~0u;
extern std::atomic<unsigned> focus;

inline unsigned focused(unsigned kind)
{
	const unsigned now = focus.load(std::memory_order_relaxed);

	return now == no_focus ? kind : now;
}

/* A kind at random, by weight. */
unsigned choose_kind(chance &random);

/* Create all caches; destroy them: errors if objects are left, or were lost. */
void create_kinds();
void destroy_kinds();

/* Errors if objects of the cache are in use, or it is damaged. */
void expect_all_free(const char *name, struct slab_cache *cache);

/* --- objects: each call is checked by the oracle ----------------------------------------- */

/* Objects of a kind into out[]; returns their number, which is less than n if memory is short. */
unsigned obtain(unsigned kind, chance &random, std::uint64_t *stamps, unsigned n, held *out);

void dispose(const held &object, chance &random);

/* n objects of one kind. */
void dispose_bulk(const held *objects, unsigned n);

/* Change the size of an object of BY_SIZE. */
void resize(held &object, chance &random);

/* --- signals ------------------------------------------------------------------------------- */

/* Is this thread in a call of libslab? A signal handler then leaves libslab alone. */
extern thread_local volatile bool is_inside __attribute__((tls_model("initial-exec")));

/* Objects that several threads reach: movable ones, reclaimable ones, and those of readers under
 * RCU. Each call does one operation at random and returns the number of checked operations. */

void create_shared();
void destroy_shared(); /* frees what is left; then as destroy_kinds() */

unsigned use_movable(chance &random, std::uint64_t *stamps);
unsigned use_reclaimable(chance &random);
unsigned use_published(chance &random, std::uint64_t *stamps);

struct slab_cache *movable_cache();

/* Calls of libslab that signal handlers know of. */

/* While it lives, the thread is in a call of libslab. */
class inside_mark
{
public:
	inside_mark() : before_(is_inside)
	{
		is_inside = true;
		std::atomic_signal_fence(std::memory_order_seq_cst);
	}

	~inside_mark()
	{
		std::atomic_signal_fence(std::memory_order_seq_cst);
		is_inside = before_;
	}

	inside_mark(const inside_mark &) = delete;
	inside_mark &operator=(const inside_mark &) = delete;

private:
	const bool before_; /* a destructor may call libslab */
};

template <typename Call> inline auto inside(Call call)
{
	inside_mark mark;

	return call();
}

} /* namespace soak */
