/* SPDX-License-Identifier: MIT */
/* Objects that several threads reach. */
#include "kinds.h"

#include "../support/flavours.h"
#include "../support/process.h"

namespace soak
{

namespace
{

constexpr std::size_t movable_size = 712, reclaimable_size = 500;
constexpr unsigned keys = 1024, pool_size = 256, board_size = 64, reclaimed_most = 16;
constexpr std::uint16_t no_kind = 0xffff;

/* The number that undoes the multiplication of pattern_word(). */
constexpr std::uint64_t inverse(std::uint64_t odd)
{
	std::uint64_t x = odd;

	for (int i = 0; i < 6; i++)
		x *= 2 - odd * x;
	return x;
}

/* The stamp of an object, as its contents say. */
std::uint64_t stamp_in(const void *obj)
{
	return load_word(obj, 1) * inverse(UINT64_C(0xbf58476d1ce4e5b9)) - 1;
}

/* --- movable objects ------------------------------------------------------------------------- */

/* The stamp of a movable object is key + n * keys, so the object leads to its place. No thread
 * waits for the lock of a place. */
struct place {
	std::atomic<void *> obj{nullptr};
	std::atomic<bool> locked{false};

	bool try_lock() { return !locked.exchange(true, std::memory_order_acquire); }

	void unlock() { locked.store(false, std::memory_order_release); }
};

struct slab_cache *movable, *reclaimable;
place places[keys];
std::atomic<void *> pool[pool_size], published[board_size], typesafe[board_size];

int construct(void *obj, void *)
{
	__atomic_store_n(words_of(obj), idle_tag(obj), __ATOMIC_RELAXED);
	return 0;
}

held movable_object(void *obj)
{
	return {obj, stamp_in(obj), movable_size, no_kind};
}

int isolate(void *obj, void *)
{
	place &at = places[stamp_in(obj) % keys];

	if (load_word(obj, 0) != live_tag(obj) || !at.try_lock())
		return 1;
	if (at.obj.load() == obj)
		return 0;
	at.unlock();
	return 1;
}

int migrate(void *from, void *to, void *)
{
	held object = movable_object(from);
	place &at = places[object.stamp % keys];
	const bool refuses = live_tag(from) % 16 == 0;

	if (refuses) {
		check(object);
	} else {
		disclaim(object);
		object.obj = to;
		claim(object, fresh::IDLE);
		at.obj = to;
	}
	at.unlock();
	return refuses;
}

void insert(place &at, std::uint64_t key, std::uint64_t *stamps)
{
	const unsigned epoch = shortage_epoch.load();
	void *obj = inside([] { return slab_alloc(movable); });

	if (obj) {
		claim({obj, key + ++*stamps * keys, movable_size, no_kind}, fresh::IDLE);
		at.obj = obj;
	} else if (was_plenty(epoch)) {
		error("failed without a cause", "movable", nullptr, static_cast<unsigned>(errno));
	}
}

/* --- reclaimable objects ---------------------------------------------------------------------- */

/* Any thread may free a reclaimable object, so its stamp follows from its address. */
held reclaimable_object(void *obj)
{
	return {obj, live_tag(obj) >> 1, reclaimable_size, no_kind};
}

bool free_pooled(unsigned index)
{
	void *obj = pool[index % pool_size].exchange(nullptr);

	if (!obj)
		return false;
	disclaim(reclaimable_object(obj));
	slab_free(reclaimable, obj);
	return true;
}

std::size_t reclaim(struct slab_cache *, void *)
{
	static std::atomic<unsigned> next;
	std::size_t freed = 0;

	for (unsigned n = 0; n < pool_size && freed < reclaimed_most; n++)
		freed += free_pooled(next++);
	return freed;
}

/* --- objects of readers ----------------------------------------------------------------------- */

unsigned index_of(const char *name)
{
	unsigned i = 0;

	while (i < kinds_count && std::strcmp(kinds[i].name, name) != 0)
		i++;
	return i;
}

/* The object stays as it is for as long as the reader is in its section. */
void read_published(std::atomic<void *> &at, std::size_t size, bool slowly)
{
	const void *obj;
	std::uint64_t stamp;

	urcu_bp_flavor.read_lock();
	obj = at.load(std::memory_order_acquire);
	if (obj) {
		stamp = stamp_in(obj);
		if (slowly)
			sched_yield();
		if (load_word(obj, 0) != live_tag(obj) && load_word(obj, 0) != waiting_tag(obj))
			error("reader finds no object", "soak-rcu", obj, stamp);
		else if (!is_filled(obj, size, stamp))
			error("reader finds a changed object", "soak-rcu", obj, stamp);
	}
	urcu_bp_flavor.read_unlock();
}

/* The memory stays an object of its type, in use or not. */
void read_typesafe(std::atomic<void *> &at, bool slowly)
{
	const void *obj;

	urcu_bp_flavor.read_lock();
	obj = at.load(std::memory_order_acquire);
	if (obj) {
		if (slowly)
			sched_yield();
		const std::uint64_t tag = load_word(obj, 0);

		if (tag != live_tag(obj) && tag != idle_tag(obj))
			error("reader finds other memory", "soak-typesafe", obj, tag);
	}
	urcu_bp_flavor.read_unlock();
}

/* Replace what is published at a place; returns the number of operations. */
unsigned replace(std::atomic<void *> &at, unsigned kind, chance &random, std::uint64_t *stamps)
{
	held object;
	const unsigned n = obtain(kind, random, stamps, 1, &object);
	void *old = at.exchange(n ? object.obj : nullptr, std::memory_order_acq_rel);

	if (!old)
		return n;
	dispose({old, stamp_in(old), object_size(kind), static_cast<std::uint16_t>(kind)}, random);
	return n + 1;
}

void clear_board(std::atomic<void *> *board, unsigned kind)
{
	chance random;

	for (unsigned i = 0; i < board_size; i++) {
		void *old = board[i].exchange(nullptr);

		if (old)
			dispose({old, stamp_in(old), object_size(kind),
				 static_cast<std::uint16_t>(kind)},
				random);
	}
}

void destroy(const char *name, struct slab_cache *cache)
{
	expect_all_free(name, cache);
	if (slab_cache_destroy(cache) != 0)
		error("not destroyed", name, cache, 0);
}

} /* namespace */

unsigned use_movable(chance &random, std::uint64_t *stamps)
{
	const unsigned key = random.below(keys);
	place &at = places[key];
	void *obj;

	if (!at.try_lock())
		return 0;
	obj = at.obj.load();
	if (!obj) {
		insert(at, key, stamps);
	} else if (random.below(4) == 0) {
		check(movable_object(obj));
	} else {
		at.obj = nullptr;
		disclaim(movable_object(obj));
		inside([=] { slab_free(movable, obj); });
	}
	at.unlock();
	return 1;
}

unsigned use_reclaimable(chance &random)
{
	const unsigned index = random.below(pool_size);
	void *obj = inside([] { return slab_alloc(reclaimable); }), *old;

	if (!obj)
		return 0;
	claim(reclaimable_object(obj));
	old = pool[index].exchange(obj);
	if (!old)
		return 1;
	disclaim(reclaimable_object(old));
	inside([=] { slab_free(reclaimable, old); });
	return 2;
}

/* liburcu tells ThreadSanitizer nothing of its grace periods, so there no thread reads. */
unsigned use_published(chance &random, std::uint64_t *stamps)
{
	static const unsigned rcu = index_of("soak-rcu"), safe = index_of("soak-typesafe");
	const unsigned i = random.below(board_size);
	const bool slowly = random.below(16) == 0;

	switch (random.below(4)) {
	case 0:
		return replace(published[i], rcu, random, stamps);
	case 1:
		return replace(typesafe[i], safe, random, stamps);
	case 2:
		if (!under_tsan)
			read_published(published[i], object_size(rcu), slowly);
		return 1;
	default:
		if (!under_tsan)
			read_typesafe(typesafe[i], slowly);
		return 1;
	}
}

struct slab_cache *movable_cache()
{
	return movable;
}

void create_shared()
{
	struct slab_cache_args args = {};

	args.ctor = construct;
	args.isolate = isolate;
	args.migrate = migrate;
	movable = slab_cache_create("soak-movable", movable_size, &args, 0);
	args = {};
	args.reclaim = reclaim;
	reclaimable = slab_cache_create("soak-reclaim", reclaimable_size, &args, 0);
	if (!movable || !reclaimable)
		error("not created", "shared", nullptr, static_cast<unsigned>(errno));
}

void destroy_shared()
{
	for (place &at : places) {
		void *obj = at.obj.exchange(nullptr);

		if (!obj)
			continue;
		disclaim(movable_object(obj));
		slab_free(movable, obj);
	}
	for (unsigned i = 0; i < pool_size; i++)
		free_pooled(i);
	clear_board(published, index_of("soak-rcu"));
	clear_board(typesafe, index_of("soak-typesafe"));
	destroy("soak-movable", movable);
	destroy("soak-reclaim", reclaimable);
}

} /* namespace soak */
