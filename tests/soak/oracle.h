/* SPDX-License-Identifier: MIT */
/*
 * The ownership oracle of the soak: it notices an object that has two owners, that was damaged or
 * lost, and an allocation that fails without a cause.
 *
 * The first word of an object is its tag, a hash of its address: LIVE while it has an owner, IDLE
 * while it has none. An owner claims an object by exchanging the tag, so of two owners of one
 * object at least one sees the other, whatever the order of their steps. The other words hold a
 * pattern of the owner's stamp, a number that is never used again.
 *
 * Of objects of more than pattern_bytes the first pattern_bytes, one word of each page and the last
 * word hold the pattern.
 */
#pragma once

#include "../support/test.h"

namespace soak
{

constexpr std::size_t pattern_bytes = 256, least_bytes = 8, page_words = 512;

/* An object and what it must look like. */
struct held {
	void *obj;
	std::uint64_t stamp;
	std::uint32_t size;
	std::uint16_t kind;
};

/* --- errors ------------------------------------------------------------------------------- */

/* Count an error, and write it to stderr if it is one of the first. Async-signal-safe. */
void error(const char *what, const char *kind, const void *obj, std::uint64_t stamp);

unsigned long errors();
void clear_errors();

/* Errors are expected: do not write them. */
void be_silent(bool silent);
bool is_silent();

/* How many errors begin with these words. */
bool seen(const char *words);

/* --- shortage: why an allocation may fail ---------------------------------------------------- */

extern std::atomic<unsigned> shortages, shortage_epoch;

/* While it lives, allocations may fail. */
class shortage
{
public:
	shortage() { shortages.fetch_add(1); }

	~shortage()
	{
		shortage_epoch.fetch_add(1);
		shortages.fetch_sub(1);
	}

	shortage(const shortage &) = delete;
	shortage &operator=(const shortage &) = delete;
};

/* Was there no shortage since shortage_epoch had this value? */
inline bool was_plenty(unsigned epoch)
{
	return !shortages.load() && shortage_epoch.load() == epoch;
}

/* --- tags ------------------------------------------------------------------------------------ */

inline std::uint64_t live_tag(const void *obj)
{
	std::uint64_t x = reinterpret_cast<std::uintptr_t>(obj) ^ UINT64_C(0x736f616b6c697665);

	x *= UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 32;
}

/* No owner: what a constructor writes, and what an owner leaves. */
inline std::uint64_t idle_tag(const void *obj)
{
	return ~live_tag(obj);
}

/* No owner, but readers may still look until a grace period is over. */
inline std::uint64_t waiting_tag(const void *obj)
{
	return live_tag(obj) ^ UINT64_C(0x5555555555555555);
}

/* What its tag says of an object's owner. */
const char *ownership_of(const void *obj);

inline std::uint64_t *words_of(void *obj)
{
	return static_cast<std::uint64_t *>(obj);
}

inline std::uint64_t load_word(const void *obj, std::size_t index)
{
	return __atomic_load_n(static_cast<const std::uint64_t *>(obj) + index, __ATOMIC_RELAXED);
}

/* --- patterns -------------------------------------------------------------------------------- */

inline std::uint64_t pattern_word(std::uint64_t stamp, std::size_t index)
{
	return (stamp + index) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* Call fn(index) for each word that holds the pattern. */
template <typename Function> inline void each_word(std::size_t size, Function fn)
{
	const std::size_t words = size / 8;
	const std::size_t head = words < pattern_bytes / 8 ? words : pattern_bytes / 8;

	for (std::size_t i = 1; i < head; i++)
		fn(i);
	if (words == head)
		return;
	for (std::size_t i = page_words; i < words - 1; i += page_words)
		fn(i);
	fn(words - 1);
}

/* Words are stored atomically, because readers of RCU look at them meanwhile. */
inline void fill(void *obj, std::size_t size, std::uint64_t stamp)
{
	const std::uint64_t last = pattern_word(stamp, 0);

	each_word(size, [=](std::size_t i) {
		__atomic_store_n(words_of(obj) + i, pattern_word(stamp, i), __ATOMIC_RELAXED);
	});
	if (size % 8)
		std::memcpy(static_cast<char *>(obj) + size / 8 * 8, &last, size % 8);
}

inline bool is_filled(const void *obj, std::size_t size, std::uint64_t stamp)
{
	const std::uint64_t last = pattern_word(stamp, 0);
	std::uint64_t wrong = 0;

	each_word(size,
		  [&](std::size_t i) { wrong |= load_word(obj, i) ^ pattern_word(stamp, i); });
	return !wrong && (!(size % 8) || std::memcmp(static_cast<const char *>(obj) + size / 8 * 8,
						     &last, size % 8) == 0);
}

/* --- owners ---------------------------------------------------------------------------------- */

/* What the object must hold when it is allocated. */
enum class fresh { ANYTHING, IDLE, ZERO };

const char *kind_name(unsigned kind);

/* The caller has allocated the object: it becomes the only owner. */
inline void claim(const held &object, fresh state = fresh::ANYTHING)
{
	const std::uint64_t live = live_tag(object.obj);
	const std::uint64_t old = __atomic_exchange_n(words_of(object.obj), live, __ATOMIC_ACQ_REL);

	if (__builtin_expect(old == live, 0))
		error("allocated twice", kind_name(object.kind), object.obj, object.stamp);
	else if (state == fresh::IDLE && __builtin_expect(old != idle_tag(object.obj), 0))
		error("not in its constructed state", kind_name(object.kind), object.obj,
		      object.stamp);
	fill(object.obj, object.size, object.stamp);
}

/* Its owner looks at the object. */
inline void check(const held &object)
{
	if (__builtin_expect(load_word(object.obj, 0) != live_tag(object.obj), 0))
		error("lost its owner's tag", kind_name(object.kind), object.obj, object.stamp);
	else if (__builtin_expect(!is_filled(object.obj, object.size, object.stamp), 0))
		error("damaged", kind_name(object.kind), object.obj, object.stamp);
}

/* The owner is about to free the object. `left` is the tag that it leaves. */
inline void disclaim(const held &object, std::uint64_t left)
{
	const std::uint64_t live = live_tag(object.obj);

	if (__builtin_expect(!is_filled(object.obj, object.size, object.stamp), 0))
		error("damaged", kind_name(object.kind), object.obj, object.stamp);
	if (__builtin_expect(
		    __atomic_exchange_n(words_of(object.obj), left, __ATOMIC_ACQ_REL) != live, 0))
		error("lost its owner's tag", kind_name(object.kind), object.obj, object.stamp);
}

inline void disclaim(const held &object)
{
	disclaim(object, idle_tag(object.obj));
}

/* --- chance ----------------------------------------------------------------------------------- */

/* xorshift64*: the same decisions for the same seed. */
class chance
{
public:
	explicit constexpr chance(std::uint64_t seed = 1)
		: state_((seed + 1) * UINT64_C(0x9e3779b97f4a7c15))
	{
		for (int i = 0; i < 4; i++)
			next();
	}

	constexpr std::uint64_t next()
	{
		state_ ^= state_ >> 12;
		state_ ^= state_ << 25;
		state_ ^= state_ >> 27;
		return state_ * UINT64_C(0x2545f4914f6cdd1d) >> 16;
	}

	/* 0 … n - 1. */
	unsigned below(unsigned n)
	{
		return static_cast<unsigned>(((next() & 0xffffffff) * n) >> 32);
	}

private:
	std::uint64_t state_;
};

/* Errors on purpose, which the oracle must see: one error, once, with an object of the kind that
 * suits it. */

enum plant {
	NOTHING,
	DOUBLED, /* an object that has an owner is allocated again */
	LOST, /* an object is not freed */
	DAMAGED, /* a bit of an object in use changes */
	EMPTIED, /* a page of an object in use loses its contents */
	FAILED, /* an allocation fails, although there is memory */
	UNCONSTRUCTED, /* an object is not in its constructed state */
	POINT, /* a call is a cancellation point */
	HALTED, /* a child of a fork does not end well */
};

extern std::atomic<unsigned> planted;

inline bool plants_now()
{
	return __builtin_expect(planted.load(std::memory_order_relaxed) != NOTHING, 0);
}

/* Make this error with the next object that suits it. */
void plant_error(enum plant what);

/* Is this error to be made now, with an object of this kind? true once. */
bool is_planted(enum plant what, unsigned kind);

/* An object that has an owner, or NULL. */
void *planted_object(unsigned kind);

/* NULL instead of the object, which is freed. */
void *plant_failure(void *obj, unsigned kind);

/* Before and after the caller claims the object. */
void plant_before(const held &object);
void plant_after(const held &object);

} /* namespace soak */
