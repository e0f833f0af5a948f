/* SPDX-License-Identifier: MIT */
/* What the threads of a stress test do, under the ownership oracle. */
#pragma once

#include "ownership.h"

/*
 * A thread of an arena: it allocates singly and in bulk, keeps up to
 * `most` objects, passes a share on, and frees in any order.
 */
class worker
{
public:
	worker(arena &place, unsigned seed, std::size_t most = 300)
		: arena_(place), random_(seed), most_(most)
	{
	}

	~worker()
	{
		for (const owned_object &object : held_)
			arena_.release(object);
	}

	worker(const worker &) = delete;
	worker &operator=(const worker &) = delete;

	/* One operation at random. */
	void step()
	{
		const unsigned dice = random_() % 16;

		if (held_.size() < most_ && dice < 7)
			allocate();
		else if (held_.size() < most_ && dice == 7)
			allocate_bulk();
		else if (dice < 11)
			pass_on();
		else if (dice == 15)
			free_bulk();
		else
			free_one();
	}

private:
	void allocate()
	{
		const std::size_t kind = random_() % arena_.kinds();

		keep(slab_alloc(arena_.cache(kind)), kind);
	}

	void allocate_bulk()
	{
		const std::size_t kind = random_() % arena_.kinds();
		const unsigned mode = 1u << random_() % 4;
		void *objs[40];
		const std::size_t n =
			slab_alloc_bulk(arena_.cache(kind), mode, random_() % 40, objs);

		for (std::size_t i = 0; i < n; i++)
			keep(objs[i], kind);
	}

	void keep(void *obj, std::size_t kind)
	{
		if (obj)
			held_.push_back(arena_.adopt(obj, kind));
		else
			arena_.allocation_failed();
	}

	/* Some held object, no longer held. */
	owned_object give_up()
	{
		const std::size_t index = random_() % held_.size();
		const owned_object object = held_[index];

		held_[index] = held_.back();
		held_.pop_back();
		return object;
	}

	void pass_on()
	{
		owned_object object;

		if (!held_.empty()) {
			object = give_up();
			if (!arena_.board().leave(random_(), object))
				arena_.release(object);
		}
		if (arena_.board().take(random_(), object))
			arena_.release(object);
	}

	void free_one()
	{
		if (!held_.empty())
			arena_.release(give_up());
	}

	/* Free everything of one kind at once. */
	void free_bulk()
	{
		const std::size_t kind = random_() % arena_.kinds();
		std::vector<owned_object> others;
		std::vector<void *> objs;

		for (const owned_object &object : held_) {
			if (object.kind != kind) {
				others.push_back(object);
				continue;
			}
			arena_.verify(object);
			objs.push_back(object.obj);
		}
		slab_free_bulk(arena_.cache(kind), objs.size(), objs.data());
		held_.swap(others);
	}

	arena &arena_;
	std::mt19937 random_;
	std::size_t most_;
	std::vector<owned_object> held_;
};
