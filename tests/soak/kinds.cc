/* SPDX-License-Identifier: MIT */
/* Objects of all kinds, and the caches that they come from. */

#include <slab/define.h>

#include "../support/flavours.h"
#include "kinds.h"

namespace soak
{

struct defined_object {
	char bytes[184];
};

SLAB_DEFINE_CACHE(defined_object, struct defined_object, 0);

constexpr fresh ANY = fresh::ANYTHING, IDLE = fresh::IDLE, ZERO = fresh::ZERO;

/* clang-format off */
const struct kind kinds[] = {
	/* name           way            least    most     flags                 state wt  limit   res align ctor   rcu    sampled */
	{"soak-16",        FROM_CACHE,    16,      16,      0,                    ANY,  6,  0,      0,  0,    false, false, false},
	{"soak-64",        FROM_CACHE,    64,      64,      0,                    ANY,  8,  0,      0,  0,    false, false, false},
	{"soak-240",       FROM_CACHE,    240,     240,     0,                    ANY,  6,  0,      0,  0,    false, false, false},
	{"soak-712",       FROM_CACHE,    712,     712,     0,                    ANY,  4,  0,      0,  0,    false, false, false},
	{"soak-2112",      FROM_CACHE,    2112,    2112,    0,                    ANY,  2,  0,      0,  0,    false, false, false},
	{"soak-20000",     FROM_CACHE,    20000,   20000,   0,                    ANY,  1,  0,      0,  0,    false, false, false},
	{"soak-ctor",      FROM_CACHE,    160,     160,     0,                    IDLE, 4,  0,      0,  0,    true,  false, false},
	{"soak-typesafe",  FROM_CACHE,    200,     200,     SLAB_TYPESAFE_BY_RCU, IDLE, 3,  0,      0,  0,    true,  true,  false},
	{"soak-rcu",       FREED_RCU,     136,     136,     0,                    ANY,  3,  0,      0,  0,    false, true,  false},
	{"soak-debug",     FROM_CACHE,    100,     100,     SLAB_DEBUG_DEFAULT,   ANY,  1,  0,      0,  0,    false, false, false},
	{"soak-zero",      FROM_CACHE,    72,      72,      SLAB_ZERO,            ZERO, 3,  0,      0,  0,    false, false, false},
	{"soak-hwcache",   FROM_CACHE,    40,      40,      SLAB_HWCACHE_ALIGN,   ANY,  3,  0,      0,  0,    false, false, false},
	{"soak-aligned",   FROM_CACHE,    300,     300,     0,                    ANY,  2,  0,      0,  1024, false, false, false},
	{"soak-harden",    FROM_CACHE,    56,      56,      SLAB_HARDEN_FREE,     ANY,  2,  0,      0,  0,    false, false, false},
	{"soak-limit",     FROM_CACHE,    304,     304,     0,                    ANY,  2,  524288, 0,  0,    false, false, false},
	{"soak-reserve",   FROM_CACHE,    128,     128,     0,                    ANY,  2,  0,      48, 0,    false, false, false},
	{"soak-apart",     FROM_CACHE,    168,     168,     SLAB_APART,           ANY,  3,  0,      0,  0,    false, false, false},
	{"soak-sampled",   FROM_CACHE,    320,     320,     0,                    ANY,  1,  0,      0,  0,    false, false, true},
	{"defined_object", FROM_DEFINED,  184,     184,     0,                    ANY,  3,  0,      0,  0,    false, false, false},
	{"size-small",     BY_SIZE,       8,       1024,    0,                    ANY,  6,  0,      0,  0,    false, false, false},
	{"size-medium",    BY_SIZE,       1025,    32768,   0,                    ANY,  2,  0,      0,  0,    false, false, false},
	{"size-large",     BY_SIZE,       32769,   150000,  0,                    ANY,  1,  0,      0,  0,    false, false, false},
};
/* clang-format on */
const unsigned kinds_count = sizeof(kinds) / sizeof(kinds[0]);

std::atomic<unsigned> focus{no_focus};
thread_local volatile bool is_inside __attribute__((tls_model("initial-exec")));

const char *kind_name(unsigned kind)
{
	return kind < kinds_count ? kinds[kind].name : "unknown";
}

namespace
{

constexpr unsigned weights_most = 256, bulk_most = 48;
constexpr unsigned settle_tries = 150, settle_us = 20000;
/* One mapping of its own in so many allocations of size-large. */
constexpr unsigned huge_one_in = 512;
constexpr std::size_t huge_size = std::size_t{9} << 20;

struct slab_cache *caches[sizeof(kinds) / sizeof(kinds[0])];
unsigned by_weight[weights_most], weights;
std::atomic<long> constructed_objects;

int construct(void *obj, void *)
{
	__atomic_store_n(words_of(obj), idle_tag(obj), __ATOMIC_RELAXED);
	constructed_objects.fetch_add(1, std::memory_order_relaxed);
	return 0;
}

void destruct(void *obj, void *)
{
	if (load_word(obj, 0) != idle_tag(obj))
		error("destroyed in use", "constructed", obj, 0);
	constructed_objects.fetch_sub(1, std::memory_order_relaxed);
}

struct slab_cache *create(const struct kind &kind)
{
	struct slab_cache_args args = {};

	args.align = kind.align;
	args.limit = kind.limit;
	args.reserve = kind.reserve;
	if (kind.constructed) {
		args.ctor = construct;
		args.dtor = destruct;
	}
	if (kind.rcu)
		args.rcu = &urcu_bp_flavor;
	return slab_cache_create(kind.name, kind.least, &args, kind.flags);
}

} /* namespace */

/* The control thread goes on, and statistics count the objects that it moves as in use. Those that
 * are lost stay so. */
void expect_all_free(const char *name, struct slab_cache *cache)
{
	struct slab_stats stats = {};

	stats.struct_size = sizeof(stats);
	for (unsigned tries = settle_tries; tries; tries--) {
		if (slab_cache_stats(cache, &stats) != 0)
			error("no statistics", name, cache, 0);
		if (!stats.objects)
			break;
		usleep(settle_us);
	}
	if (stats.objects)
		error("objects lost", name, cache, stats.objects);
	if (slab_cache_validate(cache) != 0)
		error("invalid", name, cache, 0);
}

namespace
{

/* The caches of slab_malloc() stay: all their objects are free. */
int expect_size_cache_free(struct slab_cache *cache, void *)
{
	const char *name = slab_cache_name(cache);

	if (std::strncmp(name, "size-", 5) == 0)
		expect_all_free(name, cache);
	return 0;
}

std::uint64_t large_bytes()
{
	struct slab_process_stats stats = {};

	stats.struct_size = sizeof(stats);
	slab_process_stats(&stats);
	return stats.large_bytes;
}

} /* namespace */

struct slab_cache *cache_of(unsigned kind)
{
	return kinds[kind].way == FROM_DEFINED ? defined_object_cache() : caches[kind];
}

unsigned choose_kind(chance &random)
{
	return by_weight[random.below(weights)];
}

void create_kinds()
{
	weights = 0;
	for (unsigned i = 0; i < kinds_count; i++) {
		for (unsigned n = 0; n < kinds[i].weight; n++)
			by_weight[weights++] = i;
		if (kinds[i].way == BY_SIZE || kinds[i].way == FROM_DEFINED)
			continue;
		caches[i] = create(kinds[i]);
		if (!caches[i])
			error("not created", kinds[i].name, nullptr, static_cast<unsigned>(errno));
		else if (kinds[i].sampled)
			slab_cache_sample(caches[i], 50);
	}
}

void destroy_kinds()
{
	for (unsigned i = 0; i < kinds_count; i++) {
		struct slab_cache *cache = kinds[i].way == BY_SIZE ? nullptr : cache_of(i);

		if (!cache)
			continue;
		if (kinds[i].rcu && slab_rcu_barrier(cache) != 0)
			error("no barrier", kinds[i].name, cache, 0);
		expect_all_free(kinds[i].name, cache);
		if (kinds[i].way != FROM_DEFINED && slab_cache_destroy(cache) != 0)
			error("not destroyed", kinds[i].name, cache, 0);
		caches[i] = nullptr;
	}
	slab_for_each_cache(expect_size_cache_free, nullptr);
	if (large_bytes() != 0)
		error("large memory lost", "size-large", nullptr, large_bytes());
	if (constructed_objects.exchange(0) != 0)
		error("constructors and destructors differ", "constructed", nullptr, 0);
}

/* --- allocation --------------------------------------------------------------------------- */

namespace
{

std::size_t choose_size(const struct kind &kind, chance &random)
{
	if (kind.least == kind.most)
		return kind.least;
	if (kind.least > 32768 && random.below(huge_one_in) == 0)
		return huge_size;
	return kind.least + random.below(static_cast<unsigned>(kind.most - kind.least + 1));
}

bool is_zero(const void *obj, std::size_t size)
{
	std::uint64_t any = load_word(obj, 0);

	each_word(size, [&](std::size_t i) { any |= load_word(obj, i); });
	return !any;
}

void *by_size(std::size_t size, chance &random, bool *ret_zero)
{
	const unsigned dice = random.below(16);

	*ret_zero = dice == 0;
	if (dice == 0)
		return inside([=] { return slab_calloc(1, size); });
	if (dice == 1)
		return inside([=, &random] {
			return slab_memalign(std::size_t{16} << random.below(9), size);
		});
	return inside([=] { return slab_malloc(size); });
}

/* From its cache, in one of the ways that there are. */
void *from_cache(const struct kind &kind, struct slab_cache *cache, chance &random, bool *ret_zero,
		 bool *ret_strict)
{
	const unsigned dice = random.below(32);

	*ret_zero = kind.state == fresh::ZERO;
	if (dice == 0 && !kind.constructed) {
		*ret_zero = true;
		return inside([=] { return slab_zalloc(cache); });
	}
	if (dice <= 2) {
		const int node = static_cast<int>(random.below(2));

		*ret_strict = dice == 2;
		return inside([=] {
			return slab_alloc_node(cache, *ret_strict ? node | SLAB_NODE_STRICT : node);
		});
	}
	if (dice == 3)
		return inside([=] { return slab_alloc_from(cache, __builtin_return_address(0)); });
	if (kind.way == FROM_DEFINED)
		return inside([] { return static_cast<void *>(defined_object_alloc()); });
	return inside([=] { return slab_alloc(cache); });
}

/* A single object of a kind. Node 1 need not exist. */
void *allocate(unsigned index, std::size_t size, chance &random)
{
	const struct kind &kind = kinds[index];
	const unsigned epoch = shortage_epoch.load();
	bool zero = false, strict = false;
	void *obj = plants_now() ? planted_object(index) : nullptr;

	if (obj)
		return obj;
	obj = kind.way == BY_SIZE ? by_size(size, random, &zero)
				  : from_cache(kind, cache_of(index), random, &zero, &strict);
	if (obj && plants_now())
		obj = plant_failure(obj, index);
	if (!obj) {
		if (!kind.limit && !strict && errno != EINVAL && was_plenty(epoch))
			error("failed without a cause", kind.name, nullptr,
			      static_cast<unsigned>(errno));
		return nullptr;
	}
	if (zero && !is_zero(obj, size))
		error("not zero", kind.name, obj, 0);
	return obj;
}

unsigned allocate_bulk(unsigned index, chance &random, unsigned n, void **objs)
{
	static const unsigned modes[] = {SLAB_ALLOC_LOCAL, SLAB_ALLOC_PARTIAL, SLAB_ALLOC_NEW,
					 SLAB_ALLOC_FULL};
	const unsigned mode = modes[random.below(4)], epoch = shortage_epoch.load();
	struct slab_cache *cache = cache_of(index);
	const std::size_t got = inside([=] { return slab_alloc_bulk(cache, mode, n, objs); });

	if (got < n && mode == SLAB_ALLOC_FULL && !kinds[index].limit && was_plenty(epoch))
		error("failed without a cause", kinds[index].name, nullptr, got);
	return static_cast<unsigned>(got);
}

void take(unsigned index, void *obj, std::size_t size, std::uint64_t stamp, held *out)
{
	*out = {obj, stamp, static_cast<std::uint32_t>(size), static_cast<std::uint16_t>(index)};
	if (plants_now())
		plant_before(*out);
	claim(*out, kinds[index].state);
	if (plants_now())
		plant_after(*out);
}

} /* namespace */

unsigned obtain(unsigned index, chance &random, std::uint64_t *stamps, unsigned n, held *out)
{
	const struct kind &kind = kinds[index];
	void *objs[bulk_most];

	if (n > 1 && kind.way != BY_SIZE) {
		n = allocate_bulk(index, random, n < bulk_most ? n : bulk_most, objs);
		for (unsigned i = 0; i < n; i++)
			take(index, objs[i], kind.least, ++*stamps, &out[i]);
		return n;
	}
	const std::size_t size = choose_size(kind, random);

	objs[0] = allocate(index, size, random);
	if (!objs[0])
		return 0;
	take(index, objs[0], size, ++*stamps, out);
	return 1;
}

/* --- frees ---------------------------------------------------------------------------------- */

namespace
{

void free_by_size(const held &object, chance &random)
{
	const unsigned dice = random.below(16);

	if (dice == 0)
		inside([&] { slab_free_sized(object.obj, object.size); });
	else if (dice == 1)
		inside([&] { slab_free_any(object.obj); });
	else
		inside([&] { slab_mfree(object.obj); });
}

} /* namespace */

void dispose(const held &object, chance &random)
{
	const struct kind &kind = kinds[object.kind];
	struct slab_cache *cache = kind.way == BY_SIZE ? nullptr : cache_of(object.kind);

	disclaim(object, kind.way == FREED_RCU ? waiting_tag(object.obj) : idle_tag(object.obj));
	if (plants_now() && is_planted(LOST, object.kind))
		return;
	if (kind.way == BY_SIZE)
		free_by_size(object, random);
	else if (kind.way == FREED_RCU)
		inside([&] { slab_free_rcu(cache, object.obj); });
	else if (kind.way == FROM_DEFINED)
		inside([&] { defined_object_free(static_cast<defined_object *>(object.obj)); });
	else if (random.below(64) == 0)
		inside([&] { slab_free_any(object.obj); });
	else
		inside([&] { slab_free(cache, object.obj); });
}

void dispose_bulk(const held *objects, unsigned n)
{
	const struct kind &kind = kinds[objects[0].kind];
	chance random(objects[0].stamp);
	void *objs[bulk_most];
	unsigned got = 0;

	for (unsigned i = 0; i < n; i++) {
		if (kind.way != FROM_CACHE || got == bulk_most) {
			dispose(objects[i], random);
			continue;
		}
		disclaim(objects[i]);
		objs[got++] = objects[i].obj;
	}
	if (got)
		inside([&] { slab_free_bulk(cache_of(objects[0].kind), got, objs); });
}

/* The claim ends before the call, because the contents move to another address. */
void resize(held &object, chance &random)
{
	const std::size_t size = choose_size(kinds[object.kind], random);
	const std::size_t kept = size < object.size ? size : object.size;
	const std::uint64_t second = pattern_word(object.stamp, 1);
	void *old = object.obj, *obj;

	if (object.size >= huge_size)
		return;
	disclaim(object);
	obj = inside([=] { return slab_realloc(old, size); });
	if (obj && kept >= 16 && load_word(obj, 1) != second)
		error("contents lost by realloc", kinds[object.kind].name, obj, object.stamp);
	if (obj) {
		object.obj = obj;
		object.size = static_cast<std::uint32_t>(size);
	}
	claim(object);
}

} /* namespace soak */
