/* SPDX-License-Identifier: MIT */
/* All that threads may do at the same time, for scenes in which something happens to one of
 * them. */
#pragma once

#include "movers.h"
#include "rcu_table.h"

/* Caches of each kind. The threads of a scene that do something with them are users of RCU, beside
 * a thread that calls its callbacks. */
class everything
{
public:
	explicit everything(const struct slab_cache_args *args = nullptr)
		: plain(array_length, args), debugged(3, nullptr, SLAB_CONSISTENCY_CHECKS),
		  sampled(3)
	{
		struct slab_cache_args with_reserve = {};

		with_reserve.reserve = 3;
		spare = std::make_unique<arena>(3, &with_reserve);
		spare->held_back = 3;
		/* The reserve was filled before its arrays had their length. */
		cache_drain(spare->cache(), nullptr, nullptr);
		for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
			cpu_array_set_limit(cpu_array(cache_own_arrays(spare->cache()), cpu), 3);
		slab_free(plain.cache(), slab_alloc(plain.cache())); /* now it has long arrays */
		EXPECT_EQ(slab_cache_sample(sampled.cache(), 1), 0);
	}

	~everything() { EXPECT_EQ(slab_cache_sample(sampled.cache(), 0), 0); }

	static constexpr std::size_t acts = 16;

	void act(std::size_t i)
	{
		static constexpr std::array<void (everything::*)(), acts> all = {
			&everything::use_magazines, &everything::use_debug_slabs,
			&everything::use_reserve,   &everything::use_samples,
			&everything::wait_for_rcu,  &everything::come_and_go,
			&everything::change_flags,  &everything::move_objects,
			&everything::shrink,        &everything::trim,
			&everything::validate,      &everything::drain,
			&everything::walk,          &everything::set_handler,
			&everything::use_large,     &everything::maintain};

		(this->*all[i % acts])();
	}

	/* Bodies of threads that begin when `begins` is true, one for each act. */
	std::vector<std::function<void()>> threads(const std::function<bool()> &begins)
	{
		std::vector<std::function<void()>> bodies;

		for (std::size_t i = 0; i < acts; i++)
			bodies.push_back(user([this, i, begins] {
				schedule_until(begins);
				act(i);
			}));
		return bodies;
	}

	/* They are destroyed in the opposite order, and the first report_capture has the handler. */
	arena plain, debugged, sampled;
	std::unique_ptr<arena> spare;
	movers moving;
	table waiting{4, 8};

private:
	/* Of which two arrays are not enough. */
	void use_magazines()
	{
		std::vector<void *> objs;

		for (unsigned i = 0; i < array_length * 3; i++)
			objs.push_back(plain.alloc());
		for (void *obj : objs)
			plain.free(obj);
	}

	void use_debug_slabs() { debugged.use(10); }

	void use_reserve()
	{
		spare->use(10);
		reserve_holds(spare->cache(), nullptr);
	}

	void use_samples() { sampled.use(6); }

	void wait_for_rcu()
	{
		waiting.write(10);
		waiting.barrier();
	}

	void come_and_go()
	{
		struct slab_cache_args args = {};

		args.rcu = waiting.flavour();
		const std::string name = "comes-" + std::to_string(++came_);
		struct slab_cache *cache = slab_cache_create(name.c_str(), object_size, &args, 0);

		slab_free(cache, slab_alloc(cache));
		EXPECT_EQ(slab_cache_destroy(cache), 0);
	}

	void change_flags()
	{
		EXPECT_EQ(slab_cache_debug(spare->cache(), SLAB_CONSISTENCY_CHECKS), 0);
		EXPECT_EQ(slab_cache_debug(spare->cache(), 0), 0);
	}

	void move_objects()
	{
		moving.use(60);
		moving.defrag();
	}

	void shrink()
	{
		slab_cache_shrink(plain.cache());
		slab_cache_shrink(sampled.cache());
	}

	void trim() { slab_trim(); }

	void validate()
	{
		for (arena *one : {&plain, &debugged, &sampled, spare.get()})
			EXPECT_EQ(slab_cache_validate(one->cache()), 0);
	}

	void drain() { cache_drain(plain.cache(), nullptr, nullptr); }

	void walk()
	{
		slab_for_each_cache([](struct slab_cache *, void *) { return 0; }, nullptr);
		caches_reap(plain.cache());
	}

	void set_handler() { slab_set_limit_handler(nullptr, nullptr); }

	void use_large() { slab_mfree(slab_malloc(300000)); }

	void maintain() { slab_maintain(); }

	unsigned came_ = 0;
};
