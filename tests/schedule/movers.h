/* SPDX-License-Identifier: MIT */
/* Scenes whose objects move. */
#pragma once

#include "scene.h"

/* Objects that move: who has one holds it by its place, and may say that it must stay. */
class movers
{
public:
	movers()
	{
		args_.ctor = [](void *, void *) { return 0; };
		args_.isolate = isolate;
		args_.migrate = migrate;
		args_.arg = this;
		all_ = std::make_unique<arena>(2, &args_);
	}

	~movers()
	{
		bool off = false;

		cache_each_slab(
			cache(),
			[](struct slab *slab, void *arg) {
				*static_cast<bool *>(arg) |= slab->bucket == SLAB_OFF;
			},
			&off);
		EXPECT_FALSE(off) << "a slab stays off the lists";
		free_all();
	}

	/* Objects move by one thread at a time; others are told so. */
	void defrag()
	{
		const long moved = slab_cache_defrag(cache());

		EXPECT_TRUE(moved >= 0 || moved == -EBUSY);
		if (mover_ == std::this_thread::get_id())
			mover_ = {};
	}

	struct slab_cache *cache() const { return all_->cache(); }

	std::size_t in_use() const { return all_->in_use(); }

	unsigned refused() const { return refused_; }

	/* n objects are allocated, and those at places that are no multiple of `kept` are freed. */
	void scatter(unsigned n, unsigned kept)
	{
		for (unsigned i = 0; i < n; i++)
			places_[i] = all_->alloc();
		for (unsigned i = 0; i < n; i++)
			if (i % kept)
				all_->free(std::exchange(places_[i], nullptr));
	}

	void free_all(std::size_t from = 0)
	{
		for (; from < places_.size(); from++)
			if (places_[from] && places_[from] != isolated_)
				all_->free(std::exchange(places_[from], nullptr));
	}

	void use(unsigned steps)
	{
		for (unsigned i = 0; i < steps; i++) {
			void *&place = places_[schedule_random(60)];

			if (!place) {
				void *obj = all_->alloc();

				if (place)
					all_->free(obj);
				else
					place = obj;
			} else if (place != isolated_) {
				void *obj = place;

				place = nullptr;
				schedule_point();
				all_->free(obj);
			}
		}
	}

private:
	static int isolate(void *obj, void *arg)
	{
		auto *self = static_cast<movers *>(arg);
		auto &places = self->places_;

		schedule_point();
		EXPECT_EQ(slab_user(slab_of(obj)), self->cache());
		EXPECT_TRUE(self->mover_ == std::thread::id() ||
			    self->mover_ == std::this_thread::get_id());
		self->mover_ = std::this_thread::get_id();
		if (std::find(places.begin(), places.end(), obj) == places.end()) {
			self->refused_++;
			return 1;
		}
		self->isolated_ = obj;
		return 0;
	}

	static int migrate(void *from, void *to, void *arg)
	{
		auto *self = static_cast<movers *>(arg);

		schedule_point();
		EXPECT_EQ(self->isolated_, from);
		const auto place = std::find(self->places_.begin(), self->places_.end(), from);

		EXPECT_NE(place, self->places_.end());
		self->all_->give_up(from);
		self->all_->adopt(to);
		*place = to;
		self->isolated_ = nullptr;
		return 0;
	}

	struct slab_cache_args args_ = {};
	std::array<void *, 60> places_ = {};
	void *isolated_ = nullptr;
	unsigned refused_ = 0;
	std::thread::id mover_;
	std::unique_ptr<arena> all_;
};
