/* SPDX-License-Identifier: MIT */
/*
 * Sequences of the functions on caches, against a shadow: every object keeps its bytes, no two
 * overlap, constructed objects stay constructed, and the statistics count what is in use.
 */
#include "blocks.h"
#include "process.h"

using namespace slab_fuzz;

namespace
{

constexpr std::size_t caches_max = 6, objects_max = 400, bulk_max = 48;
constexpr std::uint64_t constructed = 0x5ab0b1ec7c0de;

struct cache {
	struct slab_cache *cache;
	std::size_t size;
	std::size_t prefix; /* bytes that the constructor wrote and nobody else may */
	bool zero, may_fail;
	blocks live;
};

bool leaks_expected;

/* Constructed objects have this number at their beginning, before the shadow's pattern. */
int construct(void *obj, void *)
{
	std::memcpy(obj, &constructed, sizeof(constructed));
	return 0;
}

void destruct(void *obj, void *)
{
	FUZZ_CHECK(std::memcmp(obj, &constructed, sizeof(constructed)) == 0);
}

unsigned char *pattern_of(const cache &c, void *obj)
{
	return static_cast<unsigned char *>(obj) + c.prefix;
}

/* args.arg of movable objects is their cache. */
int isolate(void *obj, void *arg)
{
	cache &c = *static_cast<cache *>(arg);

	return c.live.find(pattern_of(c, obj)) ? 0 : -1;
}

int migrate(void *from, void *to, void *arg)
{
	cache &c = *static_cast<cache *>(arg);
	block *b = c.live.find(pattern_of(c, from));

	FUZZ_CHECK(b);
	check(*b);
	if (b->byte % 8 == 0)
		return -1;
	std::memcpy(to, from, c.size);
	b->at = pattern_of(c, to);
	return 0;
}

class world
{
public:
	explicit world(input in) : in_(in) {}

	void run()
	{
		create();
		while (!in_.empty())
			step();
		fail_.end();
		move_to_cpu(0);
		while (!caches_.empty())
			remove(caches_.size() - 1);
	}

private:
	/* --- one cache ---------------------------------------------------------------- */

	std::size_t some_size()
	{
		static const std::size_t sizes[] = {9,   16,  24,   40,   64,   96,   192,
						    256, 512, 1000, 4096, 9000, 32768};

		return in_.below(3) ? sizes[in_.below(13)] : 9 + in_.below(2000);
	}

	struct slab_cache_args some_args(std::size_t size)
	{
		struct slab_cache_args args = {};

		if (in_.below(4) == 0)
			args.align = std::size_t(1) << in_.below(13);
		if (in_.below(3) == 0) {
			args.ctor = construct;
			args.dtor = in_.below(2) ? destruct : nullptr;
			args.isolate = in_.below(2) ? isolate : nullptr;
			args.migrate = args.isolate ? migrate : nullptr;
		}
		if (in_.below(6) == 0)
			args.reserve = in_.below(20);
		if (in_.below(6) == 0)
			args.limit = (size > 4096 ? 256 : 64) * 1024 * (1 + in_.below(4));
		return args;
	}

	void create()
	{
		static const std::uint64_t some[] = {
			0,         SLAB_HWCACHE_ALIGN,   SLAB_APART,
			SLAB_ZERO, SLAB_RECLAIM_ACCOUNT, SLAB_HARDEN_FREE};
		const std::size_t size = some_size();
		struct slab_cache_args args = some_args(size);
		std::uint64_t flags = some[in_.below(6)];
		char name[16];

		if (caches_.size() == caches_max)
			return;
		if (args.ctor)
			flags &= ~SLAB_ZERO;
		if (in_.below(5) == 0)
			flags |= debug_flags(in_);
		auto made = std::make_unique<cache>();

		args.arg = made.get();
		std::snprintf(name, sizeof(name), "f%u", names_++);
		*made = {slab_cache_create(name, size, &args, flags),
			 size,
			 args.ctor ? sizeof(constructed) : 0,
			 (flags & SLAB_ZERO) != 0,
			 args.limit != 0,
			 {}};
		if (!made->cache) {
			/* EINVAL: the limit is less than a slab. */
			FUZZ_CHECK(errno == EINVAL ? args.limit != 0
						   : errno == ENOMEM && may_fail(*made));
			return;
		}
		FUZZ_CHECK(!slab_create_error());
		caches_.push_back(std::move(made));
	}

	void remove(std::size_t i)
	{
		cache &c = *caches_[i];

		while (c.live.size())
			release(c, c.live.size() - 1);
		FUZZ_CHECK(slab_cache_validate(c.cache) == 0);
		FUZZ_CHECK(slab_cache_destroy(c.cache) == 0);
		caches_.erase(caches_.begin() + static_cast<long>(i));
	}

	/* With objects in use it is refused, and the cache stays as it is. */
	void remove_too_early(cache &c)
	{
		if (!c.live.size())
			return;
		leaks_expected = true;
		FUZZ_CHECK(slab_cache_destroy(c.cache) == -EBUSY);
		leaks_expected = false;
	}

	cache &any() { return *caches_[in_.below(static_cast<unsigned>(caches_.size()))]; }

	/* --- objects ------------------------------------------------------------------ */

	bool may_fail(const cache &c) const { return c.may_fail || fail_.possible(); }

	void take_over(cache &c, void *obj)
	{
		check_aligned(obj, 8);
		if (c.prefix)
			FUZZ_CHECK(std::memcmp(obj, &constructed, sizeof(constructed)) == 0);
		else if (c.zero)
			check_zeros(obj, c.size);
		FUZZ_CHECK(slab_owns(obj) && slab_cache_of(obj) == c.cache);
		c.live.add(pattern_of(c, obj), c.size - c.prefix);
	}

	void allocate(cache &c, unsigned how)
	{
		void *obj;

		if (c.live.size() == objects_max)
			return;
		if (how == 0)
			obj = slab_alloc_node(c.cache, in_.below(2) ? 0 : -1);
		else if (how == 1 && !c.prefix)
			obj = slab_zalloc(c.cache);
		else
			obj = slab_alloc(c.cache);
		if (!obj) {
			FUZZ_CHECK(errno == ENOMEM && may_fail(c));
			return;
		}
		if (how == 1 && !c.prefix)
			check_zeros(obj, c.size);
		take_over(c, obj);
	}

	void allocate_bulk(cache &c)
	{
		const unsigned mode = 1 + in_.below(15);
		const std::size_t n = in_.below(bulk_max + 1);
		void *objs[bulk_max];
		std::size_t got;

		if (c.live.size() + n > objects_max)
			return;
		got = slab_alloc_bulk(c.cache, mode, n, objs);
		FUZZ_CHECK(got <= n);
		FUZZ_CHECK(got == n || mode < SLAB_ALLOC_NEW || may_fail(c));
		for (std::size_t i = 0; i < got; i++)
			take_over(c, objs[i]);
	}

	void release(cache &c, std::size_t i)
	{
		unsigned char *obj = c.live.take(i).at - c.prefix;

		if (obj[c.prefix] % 4)
			slab_free(c.cache, obj);
		else
			FUZZ_CHECK(slab_free_any(obj));
	}

	void release_bulk(cache &c)
	{
		void *objs[bulk_max];
		std::size_t n = std::min<std::size_t>(in_.below(bulk_max + 1), c.live.size());

		for (std::size_t i = 0; i < n; i++)
			objs[i] = c.live.take(some_object(c)).at - c.prefix;
		slab_free_bulk(c.cache, n, objs);
	}

	std::size_t some_object(const cache &c)
	{
		return in_.below(static_cast<unsigned>(c.live.size()));
	}

	/* --- settings ------------------------------------------------------------------ */

	void set_attribute(cache &c)
	{
		static const char *const names[] = {"min_partial", "remote_node_defrag_ratio"};

		FUZZ_CHECK(slab_stat_write(c.cache, names[in_.below(2)], in_.below(64)) == 0);
	}

	void set_cache_limit(cache &c)
	{
		const std::uint64_t limit =
			in_.below(2) ? std::uint64_t(512 + in_.below(512)) << 10 : 0;

		/* Some caches' slabs are larger than the limit, which is refused. */
		if (slab_stat_write(c.cache, "limit", limit) == 0)
			c.may_fail = c.may_fail || limit;
		else
			FUZZ_CHECK(limit != 0);
	}

	void set_debug(cache &c) { FUZZ_CHECK(slab_cache_debug(c.cache, debug_flags(in_)) == 0); }

	void check_numbers(cache &c)
	{
		struct slab_stats stats = {};

		stats.struct_size = sizeof(stats);
		FUZZ_CHECK(slab_cache_stats(c.cache, &stats) == 0);
		FUZZ_CHECK(stats.objects == c.live.size());
		FUZZ_CHECK(stats.total_objects >= stats.objects);
		c.live.check_all();
	}

	void defragment(cache &c)
	{
		const long moved = slab_cache_defrag(c.cache);

		FUZZ_CHECK(moved >= 0 || moved == -ENOTSUP);
		c.live.check_all();
	}

	/* --- steps ---------------------------------------------------------------------- */

	void step()
	{
		const unsigned what = in_.below(40);
		cache *c;

		if (caches_.empty() || what == 39) {
			create();
			return;
		}
		c = &any();
		if (what < 12)
			allocate(*c, what);
		else if (what < 14)
			allocate_bulk(*c);
		else if (what < 22 && c->live.size())
			release(*c, some_object(*c));
		else if (what < 24)
			release_bulk(*c);
		else if (what < 32)
			step_cache(*c, what);
		else
			step_process(what);
	}

	void step_cache(cache &c, unsigned what)
	{
		switch (what) {
		case 24:
			FUZZ_CHECK(slab_cache_shrink(c.cache) >= 0);
			break;
		case 25:
			FUZZ_CHECK(slab_cache_validate(c.cache) == 0);
			break;
		case 26:
			set_debug(c);
			break;
		case 27:
			FUZZ_CHECK(slab_cache_sample(c.cache, in_.below(64)) == 0);
			break;
		case 28:
			set_attribute(c);
			break;
		case 29:
			set_cache_limit(c);
			break;
		case 30:
			remove_too_early(c);
			break;
		default:
			defragment(c);
		}
	}

	void step_process(unsigned what)
	{
		switch (what) {
		case 32:
			fail_.inject(in_);
			break;
		case 33:
			fail_.limit(in_);
			break;
		case 34:
			slab_trim();
			break;
		case 35:
			slab_reclaim(std::size_t(in_.below(256)) << 14);
			break;
		case 36:
			slab_maintain();
			break;
		case 37:
			move_to_cpu(in_.below(2));
			break;
		default:
			if (in_.below(2))
				remove(in_.below(static_cast<unsigned>(caches_.size())));
			else
				check_numbers(any());
		}
	}

	input in_;
	failures fail_;
	std::vector<std::unique_ptr<cache>> caches_;
	unsigned names_ = 0;
};

} /* namespace */

int LLVMFuzzerInitialize(int *, char ***)
{
	calm_process();
	refuse_reports(&leaks_expected);
	return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	world(input(data, size)).run();
	return 0;
}
