/* SPDX-License-Identifier: MIT */
/* libslab as a struct baseline; stamps. */
#include "contestants.h"

#include <cstring>

#include <slab/slab.h>
#include <slab/stats.h>

namespace baselines_test
{

namespace
{

struct adapter {
	struct slab_cache *cache;
	struct baseline_args args;
};

int construct(void *obj, void *arg)
{
	const auto *self = static_cast<const adapter *>(arg);

	self->args.ctor(obj, self->args.arg);
	return 0;
}

struct slab_cache *cache_of(void *self)
{
	return static_cast<adapter *>(self)->cache;
}

void *create(const struct baseline_args *wanted)
{
	static std::uint64_t number;
	auto self = std::make_unique<adapter>();
	struct slab_cache_args args = {};

	self->args = *wanted;
	args.align = wanted->align;
	args.ctor = wanted->ctor ? construct : nullptr;
	args.arg = self.get();
	self->cache = slab_cache_create(("baseline" + std::to_string(number++)).c_str(),
					wanted->size, &args, SLAB_NO_MERGE);
	return self->cache ? self.release() : nullptr;
}

void destroy(void *self)
{
	EXPECT_EQ(slab_cache_destroy(cache_of(self)), 0);
	delete static_cast<adapter *>(self);
}

void *alloc(void *self)
{
	return slab_alloc(cache_of(self));
}

void free_one(void *self, void *obj)
{
	slab_free(cache_of(self), obj);
}

std::size_t alloc_bulk(void *self, unsigned mode, std::size_t n, void **objs)
{
	return slab_alloc_bulk(cache_of(self), mode, n, objs);
}

void free_bulk(void *self, std::size_t n, void *const *objs)
{
	slab_free_bulk(cache_of(self), n, objs);
}

void shrink(void *self)
{
	slab_cache_shrink(cache_of(self));
}

void reap(void *) {}

void stats(void *self, struct baseline_stats *ret)
{
	struct slab_stats found = {};

	found.struct_size = sizeof(found);
	EXPECT_EQ(slab_cache_stats(cache_of(self), &found), 0);
	ret->bytes = found.slab_bytes;
	ret->queued = 0;
}

} // namespace

const struct baseline libslab_baseline = {
	"libslab", create, destroy, alloc, free_one, alloc_bulk, free_bulk, shrink, reap, stats,
};

void stamp_object(void *obj, std::size_t size, std::uint32_t stamp)
{
	auto *bytes = static_cast<unsigned char *>(obj);

	for (std::size_t i = 0; i < size; i++)
		bytes[i] = static_cast<unsigned char>(stamp >> i % 4 * 8);
}

bool has_stamp(const void *obj, std::size_t size, std::uint32_t stamp)
{
	const auto *bytes = static_cast<const unsigned char *>(obj);

	for (std::size_t i = 0; i < size; i++)
		if (bytes[i] != static_cast<unsigned char>(stamp >> i % 4 * 8))
			return false;
	return true;
}

} // namespace baselines_test
