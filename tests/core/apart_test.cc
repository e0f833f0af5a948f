/* SPDX-License-Identifier: MIT */
/* SLAB_APART: an address that had an object of a cache never has one of another cache. */
#include "../support/objects.h"
#include "../support/process.h"
#include "../support/rooms.h"

namespace
{

/* Objects of 64 bytes, in several slabs of both orders; and those of them that come again, without
 * those of the last slab. */
constexpr std::size_t many = 3000, most = 2500;

struct slab_cache *create(const std::string &name, std::size_t size = 64,
			  const struct slab_cache_args *args = nullptr)
{
	struct slab_cache *cache = slab_cache_create(name.c_str(), size, args, SLAB_APART);

	EXPECT_NE(cache, nullptr) << errno;
	return cache;
}

std::set<void *> all_of(struct slab_cache *cache)
{
	const std::vector<void *> objs = alloc_many(cache, many);

	free_many(cache, objs);
	return {objs.begin(), objs.end()};
}

std::size_t common(const std::set<void *> &a, const std::set<void *> &b)
{
	return static_cast<std::size_t>(
		std::count_if(a.begin(), a.end(), [&b](void *obj) { return b.count(obj) != 0; }));
}

bool is_accessible(const void *ptr)
{
	char byte;

	return peek(&byte, static_cast<const char *>(ptr), 1) == 1;
}

/* Free addresses serve caches without the flag: else the tests below would prove nothing. */
TEST(ApartTest, WithoutTheFlagAddressesServeOtherCaches)
{
	test_cache first(64, 0), second(64, 0);
	const std::set<void *> before = all_of(first);

	slab_cache_shrink(first);
	EXPECT_GT(common(before, all_of(second)), 0u);
}

TEST(ApartTest, AddressesServeNoOtherCache)
{
	test_cache first(64, SLAB_APART), second(64, SLAB_APART), plain(64, 0);
	const std::set<void *> before = all_of(first);

	slab_cache_shrink(first);
	EXPECT_EQ(common(before, all_of(second)), 0u);
	EXPECT_EQ(common(before, all_of(plain)), 0u);
}

TEST(ApartTest, TheCacheUsesItsAddressesAgain)
{
	test_cache cache(64, SLAB_APART);
	const std::set<void *> before = all_of(cache);
	const std::uint64_t held = stats_of(cache).address_bytes;

	EXPECT_GT(held, many * 64);
	for (int i = 0; i < 20; i++) {
		slab_cache_shrink(cache);
		EXPECT_EQ(stats_of(cache).slab_bytes, 0u);
		EXPECT_EQ(stats_of(cache).address_bytes, held);
		EXPECT_GT(common(before, all_of(cache)), most);
	}
	EXPECT_EQ(stats_of(cache).address_bytes, held);
}

TEST(ApartTest, PagesGoBackAndAddressesBecomeInaccessible)
{
	test_cache cache(64, SLAB_APART);
	const std::set<void *> objs = all_of(cache);

	EXPECT_TRUE(is_accessible(*objs.begin()));
	slab_cache_shrink(cache);
	for (void *obj : objs)
		EXPECT_FALSE(is_accessible(obj));
}

TEST(ApartTest, ACacheOfTheSameNameAndLayoutGetsTheAddressesOfADestroyedOne)
{
	struct slab_cache *cache = create("again");
	const std::set<void *> before = all_of(cache);

	EXPECT_EQ(slab_cache_destroy(cache), 0);
	for (void *obj : before)
		EXPECT_FALSE(is_accessible(obj));
	struct slab_cache *other = create("other"), *larger = create("again", 72);

	EXPECT_EQ(common(before, all_of(other)), 0u);
	EXPECT_EQ(common(before, all_of(larger)), 0u);
	EXPECT_EQ(slab_cache_destroy(larger), 0);
	cache = create("again");
	EXPECT_GT(stats_of(cache).address_bytes, many * 64);
	EXPECT_GT(common(before, all_of(cache)), most);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
	EXPECT_EQ(slab_cache_destroy(other), 0);
}

TEST(ApartTest, AChildHasItsParentsAddresses)
{
	test_cache cache(64, SLAB_APART), other(64, SLAB_APART);
	const std::set<void *> before = all_of(cache);

	slab_cache_shrink(cache);
	EXPECT_IN_CHILD([&] {
		return common(before, all_of(other)) == 0 && common(before, all_of(cache)) > most
			       ? 0
			       : 1;
	});
}

/* Guarded slabs are shared by all caches, but for those that are apart. */
TEST(ApartTest, GuardedAddressesServeNoOtherCache)
{
	test_cache first(64, SLAB_APART), second(64, SLAB_APART), plain(64, 0);
	std::map<struct slab_cache *, std::set<void *>> seen;

	for (struct slab_cache *cache :
	     std::initializer_list<struct slab_cache *>{first, second, plain})
		EXPECT_EQ(slab_cache_sample(cache, 1), 0);
	for (unsigned i = 0; i < 3000; i++)
		for (struct slab_cache *cache :
		     std::initializer_list<struct slab_cache *>{first, second, plain}) {
			void *obj = slab_alloc(cache);

			seen[cache].insert(obj);
			slab_free(cache, obj);
		}
	EXPECT_GT(stats_of(first).guarded_slabs, 0u);
	EXPECT_EQ(common(seen[first], seen[second]), 0u);
	EXPECT_EQ(common(seen[first], seen[plain]), 0u);
	EXPECT_EQ(common(seen[second], seen[plain]), 0u);
	EXPECT_LT(stats_of(first).address_bytes, std::uint64_t{64} << 20);
}

TEST(ApartTest, AtItsLimitOfAddressesAnAllocationFails)
{
	constexpr std::size_t limit = std::size_t{1} << 20;
	struct slab_cache_args args = {};
	std::vector<void *> objs;

	args.address_limit = limit;
	test_cache cache(64, SLAB_APART, &args);
	for (void *obj; (obj = slab_alloc(cache));)
		objs.push_back(obj);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_GE(objs.size() * 64, limit * 3 / 4);
	EXPECT_LE(stats_of(cache).address_bytes, limit);
	EXPECT_GT(stats_of(cache).limit_hits, 0u);
	/* Addresses with red zones would be further ones. */
	EXPECT_EQ(slab_cache_debug(cache, SLAB_RED_ZONE), 0);
	EXPECT_EQ(slab_alloc(cache), nullptr);
	EXPECT_EQ(slab_cache_debug(cache, 0), 0);
	free_many(cache, objs);
	slab_cache_shrink(cache);
	objs = alloc_many(cache, objs.size());
	free_many(cache, objs);
}

TEST(ApartTest, ALimitBelowOneSlabIsRefused)
{
	struct slab_cache_args args = {};

	args.address_limit = 4096;
	EXPECT_EQ(slab_cache_create("small", 64, &args, SLAB_APART), nullptr);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_STREQ(slab_create_error(), "args.address_limit is less than one slab");
}

/* --- random operations ------------------------------------------------------------------------ */

/* Which type each granule of memory has had, and which start an object. */
class ledger
{
public:
	static constexpr std::uint16_t starts = 0x8000;

	/* An object of this type is allocated. `placed`: its addresses had no object elsewhere. */
	void claim(const void *obj, std::size_t size, std::uint16_t type, bool placed)
	{
		const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(obj) / granule;
		const std::uintptr_t end = first + (size + granule - 1) / granule;

		for (std::uintptr_t at = first; at < end; at++) {
			std::uint16_t &has = entry(at);
			const std::uint16_t wanted = placed && at == first ? type | starts : type;

			violations_ += has && has != wanted;
			has = wanted;
		}
	}

	std::uint64_t violations() const { return violations_; }

private:
	static constexpr std::size_t granule = 16, page = 1 << 20;

	std::uint16_t &entry(std::uintptr_t at)
	{
		if (!entries_ || at / page != number_) {
			std::unique_ptr<std::uint16_t[]> &entries = pages_[at / page];

			if (!entries)
				entries = std::make_unique<std::uint16_t[]>(page);
			entries_ = entries.get();
			number_ = at / page;
		}
		return entries_[at % page];
	}

	std::map<std::uintptr_t, std::unique_ptr<std::uint16_t[]>> pages_;
	std::uint16_t *entries_ = nullptr; /* of page `number_`, the last one used */
	std::uintptr_t number_ = 0;
	std::uint64_t violations_ = 0;
};

/* Caches of several sizes, which the program uses, empties, destroys and debugs at random. */
class random_program
{
public:
	random_program(std::uint64_t flags, unsigned seed) : flags_(flags), random_(seed)
	{
		for (unsigned i = 0; i < caches_.size(); i++)
			create_cache(i);
	}

	~random_program()
	{
		for (one &c : caches_)
			destroy_cache(c);
		free_all(large_);
	}

	random_program(const random_program &) = delete;
	random_program &operator=(const random_program &) = delete;

	void run(std::uint64_t operations)
	{
		for (std::uint64_t i = 0; i < operations; i++)
			step();
	}

	std::uint64_t violations() const { return ledger_.violations(); }

private:
	static constexpr std::size_t granule = 16, most_live = 4000;
	static constexpr std::uint16_t by_size = 1, first_type = 2, types_max = 3000;

	struct one {
		std::string name;
		struct slab_cache *cache;
		std::size_t size;
		std::uint16_t type;
		std::vector<void *> live;
	};

	unsigned below(unsigned n) { return static_cast<unsigned>(random_()) % n; }

	void create_cache(unsigned i)
	{
		one &c = caches_[i];
		struct slab_cache_args args = {};

		args.align = granule;
		if (c.name.empty() || (below(2) && next_type_ < types_max)) {
			c.type = next_type_++;
			c.name = "type" + std::to_string(c.type);
			c.size = (1 + below(below(4) ? 20 : 120)) * granule;
		}
		c.cache = slab_cache_create(c.name.c_str(), c.size, &args, flags_);
		ASSERT_NE(c.cache, nullptr);
	}

	void destroy_cache(one &c)
	{
		for (void *obj : c.live)
			slab_free(c.cache, obj);
		c.live.clear();
		EXPECT_EQ(slab_cache_destroy(c.cache), 0);
	}

	void allocate(one &c)
	{
		void *obj = c.live.size() < most_live ? slab_alloc(c.cache) : nullptr;

		if (!obj)
			return;
		ledger_.claim(obj, c.size, c.type, true);
		c.live.push_back(obj);
	}

	void release(one &c)
	{
		if (c.live.empty())
			return;
		std::swap(c.live[below(static_cast<unsigned>(c.live.size()))], c.live.back());
		slab_free(c.cache, c.live.back());
		c.live.pop_back();
	}

	static void free_all(std::vector<void *> &objs)
	{
		for (void *obj : objs)
			slab_mfree(obj);
		objs.clear();
	}

	void use_by_size()
	{
		const std::size_t size = below(2) ? 32769 + below(200000) : 1 + below(2000);
		void *obj = slab_malloc(size);

		ledger_.claim(obj, size, by_size, false);
		large_.push_back(obj);
		if (large_.size() > 50)
			free_all(large_);
	}

	void rare(unsigned i)
	{
		static const std::uint64_t debug[] = {0, 0, SLAB_CONSISTENCY_CHECKS,
						      SLAB_RED_ZONE | SLAB_POISON};
		one &c = caches_[i];

		switch (below(8)) {
		case 0:
			destroy_cache(c);
			create_cache(i);
			break;
		case 1:
			EXPECT_EQ(slab_cache_debug(c.cache, debug[below(4)]), 0);
			break;
		case 2:
			EXPECT_EQ(slab_cache_sample(c.cache, below(2) * 200), 0);
			break;
		case 3:
			slab_trim();
			break;
		case 4:
			grows_ = !grows_;
			break;
		case 5:
			use_by_size();
			break;
		default:
			slab_cache_shrink(c.cache);
			break;
		}
	}

	void step()
	{
		const unsigned i = below(static_cast<unsigned>(caches_.size()));

		if (below(1000) == 0)
			rare(i);
		else if (below(100) < (grows_ ? 60u : 40u))
			allocate(caches_[i]);
		else
			release(caches_[i]);
	}

	std::uint64_t flags_;
	std::mt19937 random_;
	std::vector<one> caches_{12};
	std::vector<void *> large_;
	std::uint16_t next_type_ = first_type;
	bool grows_ = true;
	ledger ledger_;
};

/* SLAB_APART_OPERATIONS=100000000 is the long form. */
std::uint64_t operations()
{
	const char *text = getenv("SLAB_APART_OPERATIONS");

	return text ? std::strtoull(text, nullptr, 10) : 200000;
}

TEST(ApartTest, NoAddressChangesItsTypeInRandomOperations)
{
	const unsigned seed = std::random_device()();
	random_program program(SLAB_APART, seed);

	program.run(operations());
	EXPECT_EQ(program.violations(), 0u) << "seed " << seed;
}

/* The ledger sees it where types share addresses. */
TEST(ApartTest, WithoutTheFlagAddressesChangeTheirTypeInRandomOperations)
{
	random_program program(0, 1);

	program.run(200000);
	EXPECT_GT(program.violations(), 0u);
}

TEST(ApartTest, TheEnvironmentKeepsAllCachesApart)
{
	if (!in_environment({"SLAB_TYPES=apart"}))
		return;
	random_program program(0, 2);

	program.run(100000);
	EXPECT_EQ(program.violations(), 0u);
	EXPECT_NE(stats_of(test_cache(64)).flags & SLAB_APART, 0u);
}

} /* namespace */
