/* SPDX-License-Identifier: MIT */
/*
 * Sequences of malloc() and its family as libslab_malloc.so has them, against a shadow. The
 * functions of malloc/ are compiled under other names (layer_names.h), so the fuzzer's own
 * memory comes from the C library.
 */
#include "blocks.h"
#include "layer.h"
#include "process.h"

#include <cerrno>
#include <cstring>

#include <slab/malloc.h>
#include <slab/stats.h>

using namespace slab_fuzz;

namespace
{

constexpr std::size_t blocks_max = 300, page = 4096;

bool leaks_expected;

class world
{
public:
	explicit world(input in) : in_(in) {}

	void run()
	{
		while (!in_.empty())
			step();
		fail_.end();
		FUZZ_CHECK(slab_set_profile(0) == 0);
		move_to_cpu(0);
		while (live_.size())
			release(live_.size() - 1);
		calm_caches();
	}

private:
	/* Small sizes, those around the borders of classes, large ones, and sizes that cannot
	 * be. */
	std::size_t some_size()
	{
		const unsigned kind = in_.below(16);

		if (kind < 8)
			return in_.below(600);
		if (kind < 13)
			return (std::size_t(8) << in_.below(13)) + in_.below(5) - 2;
		if (kind < 15)
			return std::size_t(in_.below(65536)) * 64;
		return SIZE_MAX - in_.below(65536);
	}

	void expect_failure(std::size_t size)
	{
		FUZZ_CHECK(errno == ENOMEM || errno == EINVAL);
		FUZZ_CHECK(fail_.possible() || size > SIZE_MAX / 2);
	}

	void take_over(void *at, std::size_t size, std::size_t align)
	{
		if (!at) {
			expect_failure(size);
			return;
		}
		check_aligned(at, align);
		FUZZ_CHECK(layer_malloc_usable_size(at) >= size);
		live_.add(at, size);
	}

	void allocate_zeros()
	{
		const std::size_t n = 1 + in_.below(300), each = some_size() / n;
		void *at = layer_calloc(n, each);

		if (at)
			check_zeros(at, n * each);
		take_over(at, n * each, 8);
	}

	void allocate_aligned()
	{
		const std::size_t size = some_size(), align = std::size_t(8) << in_.below(13);
		void *at = nullptr;

		switch (in_.below(5)) {
		case 0:
			at = layer_aligned_alloc(align, size);
			break;
		case 1:
			at = layer_memalign(align, size);
			break;
		case 2:
			errno = layer_posix_memalign(&at, align, size);
			break;
		case 3:
			take_over(layer_valloc(size), size, page);
			return;
		default:
			/* All of its pages are the caller's. */
			take_over(layer_pvalloc(size),
				  size < SIZE_MAX / 2 ? (size + page - 1) & ~(page - 1) : size,
				  page);
			return;
		}
		take_over(at, size, align);
	}

	void allocate()
	{
		const unsigned how = in_.below(4);

		if (live_.size() == blocks_max)
			return;
		if (how == 0) {
			allocate_zeros();
		} else if (how == 1) {
			allocate_aligned();
		} else {
			const std::size_t size = some_size();

			take_over(layer_malloc(size), size, size >= 16 ? 16 : 8);
		}
	}

	void refuse_alignment()
	{
		void *at = nullptr;

		FUZZ_CHECK(layer_posix_memalign(&at, 8 * (in_.below(200) * 2 + 3), 8) == EINVAL);
		FUZZ_CHECK(!at);
		FUZZ_CHECK(!layer_reallocarray(nullptr, SIZE_MAX / 2, 3) && errno == ENOMEM);
	}

	void resize(std::size_t i)
	{
		const std::size_t size = std::max<std::size_t>(some_size(), 1);
		const block before = live_.take(i);
		block kept = before;
		void *at = in_.below(2) ? layer_realloc(before.at, size)
					: layer_reallocarray(before.at, 1, size);

		if (!at) {
			expect_failure(size);
			check(before);
			live_.add(before.at, before.size);
			return;
		}
		/* Of large blocks the shadow knows the first 256 bytes. */
		kept.at = static_cast<unsigned char *>(at);
		kept.size = std::min({before.size, size, std::size_t(256)});
		check(kept);
		live_.add(at, size);
	}

	void release(std::size_t i)
	{
		const block b = live_.take(i);

		switch (b.byte % 5) {
		case 0:
			layer_free_sized(b.at, b.size);
			break;
		case 1:
			layer_free_aligned_sized(b.at, 8, b.size);
			break;
		case 2:
			layer_cfree(b.at);
			break;
		case 3:
			FUZZ_CHECK(!layer_realloc(b.at, 0));
			break;
		default:
			layer_free(b.at);
		}
	}

	/* What was set on caches, the next input does not find. */
	static void calm_caches()
	{
		slab_for_each_cache(
			[](struct slab_cache *cache, void *) {
				FUZZ_CHECK(slab_cache_debug(cache, 0) == 0);
				FUZZ_CHECK(slab_cache_sample(cache, 0) == 0);
				return 0;
			},
			nullptr);
	}

	/* One of the caches that exist. */
	template <typename Act> void on_a_cache(Act act)
	{
		struct chosen {
			unsigned left;
			struct slab_cache *cache;
		} chosen = {in_.below(32), nullptr};

		slab_for_each_cache(
			[](struct slab_cache *cache, void *arg) {
				struct chosen &c = *static_cast<struct chosen *>(arg);

				c.cache = cache;
				return c.left-- == 0 ? 1 : 0;
			},
			&chosen);
		if (chosen.cache)
			act(chosen.cache);
	}

	void step()
	{
		const unsigned what = in_.below(40);

		if (what < 16)
			allocate();
		else if (what < 24 && live_.size())
			release(in_.below(static_cast<unsigned>(live_.size())));
		else if (what < 30 && live_.size())
			resize(in_.below(static_cast<unsigned>(live_.size())));
		else
			step_process(what);
	}

	void step_process(unsigned what)
	{
		switch (what) {
		case 30:
			fail_.inject(in_);
			break;
		case 31:
			fail_.limit(in_);
			break;
		case 32:
			on_a_cache([this](struct slab_cache *cache) {
				FUZZ_CHECK(slab_cache_debug(cache, debug_flags(in_)) == 0);
			});
			break;
		case 33:
			on_a_cache([this](struct slab_cache *cache) {
				FUZZ_CHECK(slab_cache_sample(cache, in_.below(32)) == 0);
			});
			break;
		case 34:
			on_a_cache([](struct slab_cache *cache) {
				FUZZ_CHECK(slab_cache_validate(cache) == 0);
				FUZZ_CHECK(slab_cache_shrink(cache) >= 0);
			});
			break;
		case 35:
			slab_trim();
			break;
		case 36:
			move_to_cpu(in_.below(2));
			break;
		case 37:
			FUZZ_CHECK(slab_set_profile(std::size_t(in_.below(8)) << 12) == 0 ||
				   fail_.possible());
			break;
		case 38:
			refuse_alignment();
			break;
		default:
			live_.check_all();
		}
	}

	input in_;
	failures fail_;
	blocks live_;
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
