/* SPDX-License-Identifier: MIT */
/*
 * <slab/slab.hpp>: caches of constructed objects, the standard allocator and
 * the polymorphic memory resource.
 */
#include <memory_resource>
#include <stdexcept>
#include <system_error>
#include <unordered_map>

#include <slab/slab.hpp>

#include "../support/objects.h"
#include "../support/reports.h"

namespace
{

/* Counts its instances, and takes arguments that can only be moved. */
struct counted {
	explicit counted(int number, std::unique_ptr<std::string> text = nullptr)
		: number(number), text(std::move(text))
	{
		alive++;
	}

	~counted() { alive--; }

	counted(const counted &) = delete;
	counted &operator=(const counted &) = delete;

	int number;
	std::unique_ptr<std::string> text;
	static int alive;
};

int counted::alive;

struct throwing {
	throwing() { throw std::runtime_error("not today"); }

	char room[64];
};

struct alignas(256) overaligned {
	char room[300];
};

/* slab::cache */

TEST(CppCacheTest, CreatesWithForwardedArguments)
{
	slab::cache<counted> cache("counted");
	counted *obj = cache.create(7, std::make_unique<std::string>("moved"));

	EXPECT_EQ(obj->number, 7);
	EXPECT_EQ(*obj->text, "moved");
	EXPECT_EQ(counted::alive, 1);
	cache.destroy(obj);
	EXPECT_EQ(counted::alive, 0);
}

TEST(CppCacheTest, TakesNameSizeAndAlignment)
{
	slab::cache<overaligned> cache("overaligned");

	EXPECT_STREQ(slab_cache_name(cache.get()), "overaligned");
	EXPECT_EQ(slab_cache_size(cache.get()), sizeof(overaligned));
	overaligned *objs[20];
	for (overaligned *&obj : objs) {
		obj = cache.create();
		EXPECT_TRUE(aligned(obj, 256));
	}
	for (overaligned *obj : objs)
		cache.destroy(obj);
}

TEST(CppCacheTest, DestroysNull)
{
	slab::cache<counted> cache("counted");

	cache.destroy(nullptr);
	cache.deallocate(nullptr);
}

TEST(CppCacheTest, AThrowingConstructorGivesTheMemoryBack)
{
	slab::cache<throwing> cache("throwing");

	for (int i = 0; i < 100; i++)
		EXPECT_THROW((void)cache.create(), std::runtime_error);
	EXPECT_EQ(stats_of(cache.get()).objects, 0u);
}

TEST(CppCacheTest, MakeUniqueOwnsTheObject)
{
	slab::cache<counted> cache("counted");

	{
		slab::cache<counted>::unique_ptr first = cache.make_unique(1);
		auto second = cache.make_unique(2, std::make_unique<std::string>("two"));

		EXPECT_EQ(first->number, 1);
		EXPECT_EQ(*second->text, "two");
		EXPECT_EQ(counted::alive, 2);
		first = std::move(second);
		EXPECT_EQ(first->number, 2);
		EXPECT_EQ(counted::alive, 1);
	}
	EXPECT_EQ(counted::alive, 0);
	EXPECT_EQ(stats_of(cache.get()).objects, 0u);
}

TEST(CppCacheTest, UniquePointersSurviveAMoveOfTheCache)
{
	slab::cache<counted> first("counted");
	auto owned = first.make_unique(3);
	slab::cache<counted> second(std::move(first));

	owned.reset();
	EXPECT_EQ(stats_of(second.get()).objects, 0u);
}

TEST(CppCacheTest, AllocatesRawMemory)
{
	slab::cache<counted> cache("counted");
	counted *memory = cache.allocate();

	EXPECT_EQ(counted::alive, 0);
	EXPECT_EQ(stats_of(cache.get()).objects, 1u);
	cache.deallocate(memory);
	EXPECT_EQ(stats_of(cache.get()).objects, 0u);
}

TEST(CppCacheTest, IsMovedButNotCopied)
{
	using cache = slab::cache<counted>;

	static_assert(!std::is_copy_constructible<cache>::value, "");
	static_assert(!std::is_copy_assignable<cache>::value, "");
	static_assert(std::is_nothrow_move_constructible<cache>::value, "");
	static_assert(std::is_nothrow_move_assignable<cache>::value, "");
	cache first("first"), second("second");
	struct slab_cache *raw = first.get();

	second = std::move(first);
	EXPECT_EQ(second.get(), raw);
	EXPECT_TRUE(static_cast<bool>(second));
	/* The old second is gone: its name is free again. */
	cache third("second");
	third.swap(second);
	EXPECT_EQ(third.get(), raw);
}

TEST(CppCacheTest, AMovedFromCacheIsEmpty)
{
	slab::cache<counted> first("first");
	slab::cache<counted> second(std::move(first));

	/* What a moved-from cache is like is what this test is about. */
	EXPECT_FALSE(static_cast<bool>(first)); /* NOLINT(bugprone-use-after-move) */
	EXPECT_EQ(first.get(), nullptr);
}

TEST(CppCacheTest, TheDestructorFreesTheName)
{
	for (int i = 0; i < 3; i++)
		slab::cache<counted> cache("counted");
	slab::cache<counted> again("counted");
}

TEST(CppCacheTest, CreationFailureThrowsTheErrno)
{
	slab::cache<counted> cache("counted");
	const auto error_of = [](const char *name, std::uint64_t flags) {
		try {
			slab::cache<int> failing(name, flags);
		} catch (const std::system_error &error) {
			EXPECT_EQ(error.code().category(), std::generic_category());
			return error.code().value();
		}
		return 0;
	};

	EXPECT_EQ(error_of("counted", 0), EEXIST);
	EXPECT_EQ(error_of("", 0), EINVAL);
	EXPECT_EQ(error_of(nullptr, 0), EINVAL);
	EXPECT_EQ(error_of("flag", UINT64_C(1) << 63), EINVAL);
}

TEST(CppCacheTest, ACacheWithLiveObjectsIsLeft)
{
	report_capture reports;
	struct slab_cache *raw;
	counted *obj;

	{
		slab::cache<counted> cache("leaking");
		raw = cache.get();
		obj = cache.create(5);
	}
	EXPECT_TRUE(reports.contains("Objects remaining in leaking"));
	EXPECT_EQ(obj->number, 5);
	obj->~counted();
	slab_free(raw, obj);
	EXPECT_EQ(slab_cache_destroy(raw), 0);
}

/* slab::allocator */

/* Objects in the process's cache for single objects of this size. */
std::uint64_t std_cache_objects(const char *name)
{
	struct search {
		const char *name;
		std::uint64_t objects;
	} search = {name, 0};

	slab_for_each_cache(
		[](struct slab_cache *cache, void *arg) {
			auto *wanted = static_cast<struct search *>(arg);

			if (std::string(wanted->name) == slab_cache_name(cache))
				wanted->objects += stats_of(cache).objects;
			return 0;
		},
		&search);
	return search.objects;
}

TEST(CppAllocatorTest, SingleObjectsComeFromACacheOfTheirSize)
{
	struct node {
		char room[88];
	};
	slab::allocator<node> allocator;
	node *first = allocator.allocate(1), *second = allocator.allocate(1);

	EXPECT_EQ(std_cache_objects("std-88-1"), 2u);
	allocator.deallocate(first, 1);
	allocator.deallocate(second, 1);
	EXPECT_EQ(std_cache_objects("std-88-1"), 0u);
}

TEST(CppAllocatorTest, TypesOfOneLayoutShareTheirCache)
{
	struct one {
		char room[104];
	};
	struct other {
		unsigned char room[104];
	};
	slab::allocator<one> ones;
	slab::allocator<other> others;
	one *first = ones.allocate(1);
	other *second = others.allocate(1);

	EXPECT_EQ(std_cache_objects("std-104-1"), 2u);
	ones.deallocate(first, 1);
	others.deallocate(second, 1);
}

TEST(CppAllocatorTest, ACacheMadeByAnotherLibraryIsFound)
{
	struct node {
		char room[120];
	};
	struct slab_definition definition = {
		nullptr, "std-120-1", 120, 1, 0, nullptr, sizeof(struct slab_cache_args)};
	struct slab_cache *theirs = slab_cache_defined(&definition, 0);
	slab::allocator<node> allocator;
	node *mine = allocator.allocate(1);

	EXPECT_EQ(stats_of(theirs).objects, 1u);
	allocator.deallocate(mine, 1);
	EXPECT_EQ(stats_of(theirs).objects, 0u);
}

TEST(CppAllocatorTest, AForeignCacheOfThatNameThrows)
{
	struct node {
		char room[136];
	};
	struct slab_cache *foreign = slab_cache_create("std-136-1", 200, nullptr, 0);
	slab::allocator<node> allocator;

	EXPECT_THROW((void)allocator.allocate(1), std::system_error);
	EXPECT_EQ(slab_cache_destroy(foreign), 0);
	allocator.deallocate(allocator.allocate(1), 1);
}

TEST(CppAllocatorTest, ArraysHaveTheirAlignment)
{
	slab::allocator<overaligned> allocator;

	for (std::size_t n : {0u, 1u, 2u, 10u, 1000u}) {
		overaligned *array = allocator.allocate(n);

		EXPECT_TRUE(aligned(array, alignof(overaligned))) << n;
		allocator.deallocate(array, n);
	}
}

TEST(CppAllocatorTest, TooManyObjectsThrow)
{
	slab::allocator<long> allocator;
	volatile std::size_t many = static_cast<std::size_t>(-1);

	EXPECT_THROW((void)allocator.allocate(many), std::bad_array_new_length);
	EXPECT_THROW((void)allocator.allocate(many / sizeof(long)), std::bad_alloc);
}

TEST(CppAllocatorTest, IsStatelessAndAlwaysEqual)
{
	static_assert(std::is_empty<slab::allocator<int>>::value, "");
	static_assert(std::allocator_traits<slab::allocator<int>>::is_always_equal::value, "");
	using rebound = std::allocator_traits<slab::allocator<int>>::rebind_alloc<long>;
	static_assert(std::is_same<rebound, slab::allocator<long>>::value, "");

	EXPECT_TRUE(slab::allocator<int>() == slab::allocator<long>());
	EXPECT_FALSE(slab::allocator<int>() != slab::allocator<long>());
	slab::allocator<long> converted{slab::allocator<int>()};
	converted.deallocate(converted.allocate(1), 1);
}

TEST(CppAllocatorTest, ServesLists)
{
	std::list<std::string, slab::allocator<std::string>> list;

	for (int i = 0; i < 1000; i++)
		list.push_back("item " + std::to_string(i));
	auto other = std::move(list);
	int i = 0;
	for (const std::string &item : other)
		EXPECT_EQ(item, "item " + std::to_string(i++));
	EXPECT_EQ(i, 1000);
}

TEST(CppAllocatorTest, ServesMapsAndSets)
{
	using pair = std::pair<const int, long>;
	std::map<int, long, std::less<int>, slab::allocator<pair>> map;
	std::set<int, std::less<int>, slab::allocator<int>> set;

	for (int i = 0; i < 1000; i++) {
		map[i * 7 % 1000] = i;
		set.insert(i * 7 % 1000);
	}
	EXPECT_EQ(map.size(), 1000u);
	for (const auto &entry : map)
		EXPECT_EQ(entry.second * 7 % 1000, entry.first);
	for (int i = 0; i < 1000; i += 2)
		map.erase(i);
	EXPECT_EQ(map.size(), 500u);
	EXPECT_EQ(*set.rbegin(), 999);
}

TEST(CppAllocatorTest, ServesHashTables)
{
	using string = std::basic_string<char, std::char_traits<char>, slab::allocator<char>>;
	using pair = std::pair<const int, string>;
	std::unordered_map<int, string, std::hash<int>, std::equal_to<int>, slab::allocator<pair>>
		map;

	for (int i = 0; i < 5000; i++)
		map.emplace(i, string(static_cast<std::size_t>(i % 100), 'x'));
	for (int i = 0; i < 5000; i++)
		EXPECT_EQ(map.at(i).size(), static_cast<std::size_t>(i % 100));
}

TEST(CppAllocatorTest, ServesVectors)
{
	std::vector<int, slab::allocator<int>> vector;

	for (int i = 0; i < 100000; i++)
		vector.push_back(i);
	for (int i = 0; i < 100000; i++)
		ASSERT_EQ(vector[static_cast<std::size_t>(i)], i);
}

TEST(CppAllocatorTest, ServesSharedPointers)
{
	{
		auto shared = std::allocate_shared<counted>(slab::allocator<counted>(), 9);
		std::shared_ptr<counted> copy = shared;

		EXPECT_EQ(copy->number, 9);
		EXPECT_EQ(counted::alive, 1);
	}
	EXPECT_EQ(counted::alive, 0);
}

TEST(CppAllocatorTest, ServesContainersThatNeverEnd)
{
	/* Destroyed after everything else of this program: the cache is still there. */
	static std::list<int, slab::allocator<int>> list;

	list.push_back(1);
	EXPECT_EQ(list.front(), 1);
}

/* slab::memory_resource */

TEST(CppMemoryResourceTest, ServesPmrContainers)
{
	report_capture reports;
	slab::memory_resource resource;

	{
		std::pmr::vector<std::pmr::string> strings(&resource);
		std::pmr::map<int, std::pmr::string> map(&resource);

		for (int i = 0; i < 1000; i++) {
			strings.emplace_back(static_cast<std::size_t>(i), 'p');
			map[i] = strings.back();
		}
		for (int i = 0; i < 1000; i++)
			EXPECT_EQ(map[i].size(), static_cast<std::size_t>(i));
	}
	EXPECT_EQ(reports.text(), "");
}

TEST(CppMemoryResourceTest, KeepsAlignments)
{
	report_capture reports;
	slab::memory_resource resource;

	for (std::size_t align = 1; align <= 8192; align *= 2)
		for (std::size_t size : {0u, 1u, 100u, 5000u, 100000u}) {
			void *memory = resource.allocate(size, align);

			EXPECT_TRUE(aligned(memory, align)) << size;
			resource.deallocate(memory, size, align);
		}
	EXPECT_EQ(reports.text(), "");
}

TEST(CppMemoryResourceTest, NoMemoryThrows)
{
	slab::memory_resource resource;
	/* Values that the compiler does not know: it would warn. */
	volatile std::size_t many = static_cast<std::size_t>(-1) / 2, align = std::size_t{1} << 62;

	EXPECT_THROW((void)resource.allocate(many, 16), std::bad_alloc);
	EXPECT_THROW((void)resource.allocate(16, align), std::bad_alloc);
}

TEST(CppMemoryResourceTest, AllOfThemAreEqual)
{
	slab::memory_resource first, second;

	EXPECT_TRUE(first.is_equal(second));
	EXPECT_TRUE(*slab::resource() == first);
	EXPECT_FALSE(first.is_equal(*std::pmr::new_delete_resource()));
	second.deallocate(first.allocate(100, 16), 100, 16);
}

TEST(CppMemoryResourceTest, CanBeTheDefault)
{
	std::pmr::memory_resource *before = std::pmr::set_default_resource(slab::resource());

	{
		std::pmr::vector<int> vector(1000, 4);
		EXPECT_TRUE(vector.get_allocator().resource() == slab::resource());
	}
	std::pmr::set_default_resource(before);
}

} /* namespace */
