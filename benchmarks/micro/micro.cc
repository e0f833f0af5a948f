// SPDX-License-Identifier: MIT
/*
 * Small cases under Google Benchmark: a pair of an allocation and a free, bulk calls, frees of
 * another thread's objects; by size, for a cache, slab_malloc() and malloc().
 */
#include <slab/malloc.h>
#include <slab/slab.h>

#include <benchmark/benchmark.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace
{

constexpr std::size_t BULK = 16;
constexpr std::size_t REMOTE = 1000; // objects that a thread allocates and another one frees

/* A cache, with the interface of the two below. */
class Cache
{
public:
	explicit Cache(std::size_t size)
		: cache_(slab_cache_create("micro", size, nullptr, SLAB_NO_MERGE))
	{
		if (!cache_)
			throw std::runtime_error(slab_create_error());
	}
	~Cache()
	{
		slab_cache_destroy(cache_);
	}
	Cache(const Cache &) = delete;
	Cache &operator=(const Cache &) = delete;

	void *alloc()
	{
		return slab_alloc(cache_);
	}
	void free(void *object)
	{
		slab_free(cache_, object);
	}
	std::size_t alloc_bulk(void **objects)
	{
		return slab_alloc_bulk(cache_, SLAB_ALLOC_FULL, BULK, objects);
	}
	void free_bulk(void **objects)
	{
		slab_free_bulk(cache_, BULK, objects);
	}

private:
	struct slab_cache *cache_;
};

class SlabMalloc
{
public:
	explicit SlabMalloc(std::size_t size) : size_(size) {}
	void *alloc()
	{
		return slab_malloc(size_);
	}
	void free(void *object)
	{
		slab_mfree(object);
	}

private:
	std::size_t size_;
};

class Malloc
{
public:
	explicit Malloc(std::size_t size) : size_(size) {}
	void *alloc()
	{
		return std::malloc(size_);
	}
	void free(void *object)
	{
		std::free(object);
	}

private:
	std::size_t size_;
};

/* No compiler leaves these calls out: malloc() is no builtin here (CMakeLists.txt). */
template <class Allocator> void pair(benchmark::State &state)
{
	Allocator allocator(static_cast<std::size_t>(state.range(0)));

	for ([[maybe_unused]] auto _ : state) {
		void *object = allocator.alloc();

		allocator.free(object);
	}
	state.SetItemsProcessed(state.iterations());
}

/* BULK objects by one call and freed by one; an iteration is all of them. */
void bulk(benchmark::State &state)
{
	Cache cache(static_cast<std::size_t>(state.range(0)));
	std::array<void *, BULK> objects{};

	for ([[maybe_unused]] auto _ : state) {
		if (cache.alloc_bulk(objects.data()) != BULK) {
			state.SkipWithError("no memory");
			return;
		}
		benchmark::DoNotOptimize(objects.data());
		cache.free_bulk(objects.data());
	}
	state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(BULK));
}

/* As many objects by single calls, all allocated before the first is freed. */
template <class Allocator> void singles(benchmark::State &state)
{
	Allocator allocator(static_cast<std::size_t>(state.range(0)));
	std::array<void *, BULK> objects{};

	for ([[maybe_unused]] auto _ : state) {
		for (void *&object : objects)
			object = allocator.alloc();
		benchmark::DoNotOptimize(objects.data());
		for (void *object : objects)
			allocator.free(object);
	}
	state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(BULK));
}

/* A thread that allocates REMOTE objects whenever it is asked to. */
template <class Allocator> class Producer
{
public:
	explicit Producer(Allocator &allocator)
		: allocator_(allocator), objects_(REMOTE), thread_([this] { run(); })
	{
	}
	~Producer()
	{
		ask(END);
		thread_.join();
	}
	Producer(const Producer &) = delete;
	Producer &operator=(const Producer &) = delete;

	std::vector<void *> &objects()
	{
		ask(WANTED);
		std::unique_lock<std::mutex> lock(mutex_);
		changed_.wait(lock, [this] { return step_ == READY; });
		return objects_;
	}

private:
	enum Step { READY, WANTED, END };

	void ask(Step step)
	{
		const std::lock_guard<std::mutex> lock(mutex_);
		step_ = step;
		changed_.notify_all();
	}
	void run()
	{
		std::unique_lock<std::mutex> lock(mutex_);

		for (;;) {
			changed_.wait(lock, [this] { return step_ != READY; });
			if (step_ == END)
				return;
			for (void *&object : objects_)
				object = allocator_.alloc();
			step_ = READY;
			changed_.notify_all();
		}
	}

	Allocator &allocator_;
	std::vector<void *> objects_;
	std::mutex mutex_;
	std::condition_variable changed_;
	Step step_ = READY;
	std::thread thread_;
};

/* The frees of objects that another thread allocated; an iteration is REMOTE of them. */
template <class Allocator> void remote_free(benchmark::State &state)
{
	Allocator allocator(static_cast<std::size_t>(state.range(0)));
	Producer<Allocator> producer(allocator);

	for ([[maybe_unused]] auto _ : state) {
		std::vector<void *> &objects = producer.objects();
		const auto start = std::chrono::steady_clock::now();

		for (void *object : objects)
			allocator.free(object);
		const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
		state.SetIterationTime(took.count());
	}
	state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(REMOTE));
}

void sizes(benchmark::internal::Benchmark *benchmark)
{
	for (const int size : {16, 64, 240, 712, 2112})
		benchmark->Arg(size);
}

BENCHMARK(pair<Cache>)->Name("pair/slab")->Apply(sizes);
BENCHMARK(pair<SlabMalloc>)->Name("pair/slab_malloc")->Apply(sizes);
BENCHMARK(pair<Malloc>)->Name("pair/malloc")->Apply(sizes);
BENCHMARK(bulk)->Name("bulk/slab")->Apply(sizes);
BENCHMARK(singles<Cache>)->Name("singles/slab")->Apply(sizes);
BENCHMARK(singles<SlabMalloc>)->Name("singles/slab_malloc")->Apply(sizes);
BENCHMARK(singles<Malloc>)->Name("singles/malloc")->Apply(sizes);
BENCHMARK(remote_free<Cache>)->Name("remote_free/slab")->Apply(sizes)->UseManualTime();
BENCHMARK(remote_free<SlabMalloc>)->Name("remote_free/slab_malloc")->Apply(sizes)->UseManualTime();
BENCHMARK(remote_free<Malloc>)->Name("remote_free/malloc")->Apply(sizes)->UseManualTime();

} // namespace

BENCHMARK_MAIN();
