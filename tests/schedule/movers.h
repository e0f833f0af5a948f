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

	~movers() { free_all(); }

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

	void free_all()
	{
		for (void *&place : places_)
			if (place && place != isolated_)
				all_->free(std::exchange(place, nullptr));
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
	std::unique_ptr<arena> all_;
};
