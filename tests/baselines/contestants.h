/* SPDX-License-Identifier: MIT */
/* All allocators of the suite, and what its tests share. */
#ifndef TESTS_BASELINES_CONTESTANTS_H
#define TESTS_BASELINES_CONTESTANTS_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <baseline.h>
#include <queued/queued.h>
#include <sheaves/sheaf.h>
#include <slob/slob.h>

namespace baselines_test
{

/* libslab behind the same interface. */
extern const struct baseline libslab_baseline;

/* A cache of one contestant. */
class object_cache
{
public:
	object_cache(const struct baseline *of, const struct baseline_args &args)
		: of_(of), cache_(of->create(&args))
	{
		EXPECT_NE(cache_, nullptr);
	}
	object_cache(const struct baseline *of, std::size_t size)
		: object_cache(of, baseline_args{size, 0, nullptr, nullptr})
	{
	}
	~object_cache()
	{
		of_->destroy(cache_);
	}
	object_cache(const object_cache &) = delete;
	object_cache &operator=(const object_cache &) = delete;

	void *alloc()
	{
		return of_->alloc(cache_);
	}
	void free(void *obj)
	{
		of_->free(cache_, obj);
	}
	std::size_t alloc_bulk(unsigned mode, std::size_t n, void **objs)
	{
		return of_->alloc_bulk(cache_, mode, n, objs);
	}
	void free_bulk(std::size_t n, void *const *objs)
	{
		of_->free_bulk(cache_, n, objs);
	}
	void shrink()
	{
		of_->shrink(cache_);
	}
	void reap()
	{
		of_->reap(cache_);
	}
	struct baseline_stats stats()
	{
		struct baseline_stats stats;

		of_->stats(cache_, &stats);
		return stats;
	}
	std::vector<void *> alloc_many(std::size_t n)
	{
		std::vector<void *> objs(n);

		for (void *&obj : objs) {
			obj = alloc();
			EXPECT_NE(obj, nullptr);
		}
		return objs;
	}
	void free_all(const std::vector<void *> &objs)
	{
		for (void *obj : objs)
			free(obj);
	}
	void *handle()
	{
		return cache_;
	}

private:
	const struct baseline *of_;
	void *cache_;
};

/* Fill an object with a stamp; has_stamp(): is all of it still there? */
void stamp_object(void *obj, std::size_t size, std::uint32_t stamp);
bool has_stamp(const void *obj, std::size_t size, std::uint32_t stamp);

class BaselineTest : public ::testing::TestWithParam<const struct baseline *>
{
protected:
	bool is(const struct baseline &one) const
	{
		return GetParam() == &one;
	}
};

inline std::string contestant_name(const ::testing::TestParamInfo<const struct baseline *> &info)
{
	return info.param->name;
}

inline auto contestants()
{
	return ::testing::Values(&slob_baseline, &queued_baseline, &sheaf_baseline,
				 &libslab_baseline);
}

} // namespace baselines_test

#endif /* TESTS_BASELINES_CONTESTANTS_H */
