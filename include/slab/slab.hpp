/* SPDX-License-Identifier: MIT */
/*
 * libslab in C++: caches of constructed objects, an allocator for standard
 * containers, and a polymorphic memory resource.
 *
 *   slab::cache<T>         a typed cache that constructs and destroys its objects
 *   slab::allocator<T>     for std::list, std::map, std::vector, allocate_shared …
 *   slab::memory_resource  for std::pmr containers (C++17 and later)
 *
 * The header needs C++14 or later, and exceptions. It consists of inline functions that call
 * those of <slab/slab.h>, <slab/define.h> and <slab/malloc.h>.
 *
 * Conventions of this header, unless a function says otherwise
 *   errors     A function throws std::bad_alloc if there is no memory, and otherwise
 *              std::system_error with the errno of the C function.
 *   alignment  Every type may be used, including over-aligned types: up to
 *              SLAB_MAX_ALIGN for a cache, any power of two otherwise.
 *   safety     Functions are MT-safe, fork-safe, cancel-safe and not async-signal-safe,
 *              as <slab/slab.h> defines these words. Any thread may free what another
 *              thread allocated. A program must not move, assign or destroy a slab::cache
 *              while other threads use it.
 */
#ifndef SLAB_SLAB_HPP
#define SLAB_SLAB_HPP

#include <slab/define.h>
#include <slab/malloc.h>
#include <slab/slab.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#if __cplusplus >= 201703L && defined(__has_include)
#if __has_include(<memory_resource>)
#include <memory_resource>
#endif
#endif

#if !defined(__cpp_exceptions)
#error "<slab/slab.hpp> needs exceptions; <slab/slab.h> does without"
#endif

/* Functions that slab-symbolize leaves out of stacks: a call site is the line that calls them. */
#define SLAB_WRAPPER_ SLAB_ATTR_(always_inline) inline

#if __cplusplus >= 201703L
#define SLAB_NODISCARD_ [[nodiscard]]
#else
#define SLAB_NODISCARD_
#endif

namespace slab
{

namespace detail
{

template <typename T> static constexpr char mark_of = 0;

/* Stands behind calls of libslab, as SLAB_CALLED_BY_() of <slab/slab.h>. */
template <typename T> SLAB_WRAPPER_ void called_for() noexcept
{
#if defined(__GNUC__)
	__asm__ volatile("" : : "m"(mark_of<T>));
#endif
}

/* Throws the exception for the errno with which slab_cache_create() failed. */
[[noreturn]] inline void throw_creation_failure(const char *name)
{
	const int error = errno;

	if (error == ENOMEM)
		throw std::bad_alloc();
	throw std::system_error(error, std::generic_category(),
				std::string("slab cache ") + (name ? name : "without a name") +
					": " + slab_create_error());
}

inline struct slab_cache *create_cache(const char *name, std::size_t size, std::size_t align,
				       std::uint64_t flags)
{
	struct slab_cache_args args = {};

	args.align = align;
	return slab_cache_create(name, size, &args, flags);
}

/*
 * The one cache of the process for single objects of a size and alignment.
 * A program and shared libraries that hide their symbols have a copy of this
 * code each. Their definitions are equal, so all have one cache, and each can free
 * objects of the other. The cache is never destroyed, because containers with static
 * storage may exist until the process ends.
 */
inline struct slab_cache *shared_cache(std::size_t size, std::size_t align)
{
	char name[SLAB_MAX_NAME + 1];
	struct slab_definition definition = {
		nullptr, name, size, align, 0, nullptr, sizeof(struct slab_cache_args)};

	std::snprintf(name, sizeof(name), "std-%zu-%zu", size, align);
	slab_cache_defined(&definition, 0);
	if (!definition.cache)
		throw_creation_failure(name);
	return definition.cache;
}

template <std::size_t Size, std::size_t Align> struct slab_cache *shared_cache_of()
{
	static struct slab_cache *const cache = shared_cache(Size, Align);

	return cache;
}

} /* namespace detail */

/*
 * slab::cache<T>: a slab cache of objects of type T, owned by this C++ object.
 *
 * create() constructs a T and destroy() destroys it, every time. For objects that keep
 * their constructed state between uses, use the C functions with slab_cache_args.ctor.
 * A moved-from cache is empty: a program may only assign to it, destroy it, and call its
 * get() and operator bool.
 *
 *	slab::cache<entry> entries("entry");
 *	entry *e = entries.create(dn, 42);
 *	entries.destroy(e);
 *	auto owned = entries.make_unique(dn, 42);
 */
template <typename T> class cache
{
	static_assert(std::is_object<T>::value && !std::is_array<T>::value,
		      "slab::cache holds objects of one complete type, no arrays");
	static_assert(sizeof(T) <= SLAB_MAX_OBJECT_SIZE, "T is larger than SLAB_MAX_OBJECT_SIZE");
	static_assert(alignof(T) <= SLAB_MAX_ALIGN, "T is aligned beyond SLAB_MAX_ALIGN");

public:
	using value_type = T;

	/* Destroys an object and frees it. A deleter refers to the C cache, so it stays
	 * valid when the program moves the slab::cache. */
	class deleter
	{
	public:
		deleter() noexcept = default;
		explicit deleter(struct slab_cache *cache) noexcept : cache_(cache) {}

		SLAB_WRAPPER_ void operator()(T *obj) const noexcept
		{
			obj->~T();
			slab_free(cache_, obj);
			detail::called_for<T>();
		}

	private:
		struct slab_cache *cache_ = nullptr;
	};

	/* The result of make_unique(). The program destroys it before the cache. */
	using unique_ptr = std::unique_ptr<T, deleter>;

	/*
	 * Creates a cache with the size and the alignment of T.
	 *
	 * @name   as for slab_cache_create(); copied.
	 * @flags  SLAB_* flags or 0.
	 *
	 * Throws std::bad_alloc if there is no memory, and std::system_error with
	 * the errno of slab_cache_create() otherwise.
	 */
	explicit cache(const char *name, std::uint64_t flags = 0)
		: cache_(detail::create_cache(name, sizeof(T), alignof(T), flags))
	{
		if (!cache_)
			detail::throw_creation_failure(name);
	}

	cache(cache &&other) noexcept : cache_(std::exchange(other.cache_, nullptr)) {}

	/* Destroys the previous cache as the destructor does. */
	cache &operator=(cache &&other) noexcept
	{
		cache(std::move(other)).swap(*this);
		return *this;
	}

	cache(const cache &) = delete;
	cache &operator=(const cache &) = delete;

	/*
	 * Destroys the cache. If objects are still allocated, libslab reports them and
	 * keeps the cache, with its name in use, so that pointers to them stay valid; it
	 * calls no destructor of T.
	 */
	~cache()
	{
		slab_cache_destroy(cache_);
	}

	/* Exchanges the caches of two objects. */
	void swap(cache &other) noexcept
	{
		std::swap(cache_, other.cache_);
	}

	/*
	 * create: allocate an object and construct it with T(args...).
	 *
	 * Throws std::bad_alloc, or the exception of T's constructor, after it freed
	 * the memory.
	 */
	template <typename... Args> SLAB_NODISCARD_ SLAB_WRAPPER_ T *create(Args &&...args)
	{
		memory_owner memory(allocate(), memory_deleter{cache_});
		T *obj = ::new (static_cast<void *>(memory.get())) T(std::forward<Args>(args)...);

		memory.release();
		return obj;
	}

	/* destroy: destroy an object of this cache and free it. NULL is allowed. */
	SLAB_WRAPPER_ void destroy(T *obj) noexcept
	{
		if (obj)
			deleter{cache_}(obj);
	}

	/* make_unique: create() with an owner that destroys the object. Throws as
	 * create() does. */
	template <typename... Args>
	SLAB_NODISCARD_ SLAB_WRAPPER_ unique_ptr make_unique(Args &&...args)
	{
		return unique_ptr(create(std::forward<Args>(args)...), deleter(cache_));
	}

	/* allocate: memory for one T, not constructed. Throws std::bad_alloc. */
	SLAB_NODISCARD_ SLAB_WRAPPER_ T *allocate()
	{
		void *memory = slab_alloc(cache_);

		detail::called_for<T>();
		if (!memory)
			throw std::bad_alloc();
		return static_cast<T *>(memory);
	}

	/* deallocate: free memory of allocate() that holds no T. NULL is allowed. */
	SLAB_WRAPPER_ void deallocate(T *memory) noexcept
	{
		slab_free(cache_, memory);
		detail::called_for<T>();
	}

	/* get: the C cache, for slab_cache_shrink(), slab_cache_stats(), slab_alloc_bulk()
	 * and so on. The slab::cache still owns it. NULL after a move. */
	struct slab_cache *get() const noexcept
	{
		return cache_;
	}

	/* True unless the program moved the cache to another slab::cache. */
	explicit operator bool() const noexcept
	{
		return cache_ != nullptr;
	}

private:
	/* Frees memory whose T could not be constructed. */
	struct memory_deleter {
		struct slab_cache *cache;

		SLAB_WRAPPER_ void operator()(T *memory) const noexcept
		{
			slab_free(cache, memory);
			detail::called_for<T>();
		}
	};
	using memory_owner = std::unique_ptr<T, memory_deleter>;

	struct slab_cache *cache_;
};

/*
 * slab::allocator<T>: memory for standard containers.
 *
 * Single objects are the nodes of lists, maps and sets, and the blocks of
 * allocate_shared(). For them allocate(1) uses one cache of the process for each
 * size and alignment, with the name "std-SIZE-ALIGN". So nodes waste nothing, and
 * slabinfo shows them. These caches stay until the process ends. Arrays of vectors
 * and tables of hash maps come from slab_malloc() or slab_memalign().
 *
 * An allocator has no state: all allocators of all types are equal, and one may
 * free what another allocated for the same type and number.
 */
template <typename T> class allocator
{
public:
	using value_type = T;
	using is_always_equal = std::true_type;
	using propagate_on_container_move_assignment = std::true_type;

	allocator() noexcept = default;
	template <typename U> allocator(const allocator<U> &) noexcept {}

	/*
	 * allocate: memory for n objects of type T.
	 *
	 * Throws std::bad_array_new_length if n * sizeof(T) overflows,
	 * std::bad_alloc if there is no memory, and std::system_error if the name of
	 * the cache of T's size is in use by another cache.
	 */
	SLAB_NODISCARD_ SLAB_WRAPPER_ T *allocate(std::size_t n)
	{
		void *memory;

		if (n > static_cast<std::size_t>(-1) / sizeof(T))
			throw std::bad_array_new_length();
		if (from_cache(n))
			memory = slab_alloc(node_cache());
		else if (alignof(T) <= alignof(std::max_align_t))
			memory = slab_malloc(n * sizeof(T));
		else
			memory = slab_memalign(alignof(T), n * sizeof(T));
		detail::called_for<T>();
		if (!memory)
			throw std::bad_alloc();
		return static_cast<T *>(memory);
	}

	/* deallocate: free memory of allocate(n), with the same n. */
	SLAB_WRAPPER_ void deallocate(T *memory, std::size_t n) noexcept
	{
		if (from_cache(n))
			slab_free(node_cache(), memory);
		else
			slab_free_sized(memory, n * sizeof(T));
		detail::called_for<T>();
	}

private:
	static constexpr bool from_cache(std::size_t n) noexcept
	{
		return n == 1 && sizeof(T) <= SLAB_MAX_OBJECT_SIZE && alignof(T) <= SLAB_MAX_ALIGN;
	}

	static struct slab_cache *node_cache()
	{
		return detail::shared_cache_of<sizeof(T), alignof(T)>();
	}
};

template <typename T, typename U>
bool operator==(const allocator<T> &, const allocator<U> &) noexcept
{
	return true;
}

template <typename T, typename U>
bool operator!=(const allocator<T> &, const allocator<U> &) noexcept
{
	return false;
}

#if defined(__cpp_lib_memory_resource)
/*
 * slab::memory_resource: std::pmr on slab_memalign() and slab_free_sized().
 *
 * A memory_resource has no state: one may free what another allocated, and all are
 * equal. (Without run-time type information, an instance equals only itself.) The
 * function resource() below returns an instance that exists as long as the process.
 * allocate() throws std::bad_alloc if there is no memory.
 */
class memory_resource : public std::pmr::memory_resource
{
private:
	void *do_allocate(std::size_t bytes, std::size_t align) override
	{
		void *memory = slab_memalign(align, bytes);

		if (!memory)
			throw std::bad_alloc();
		return memory;
	}

	void do_deallocate(void *memory, std::size_t bytes, std::size_t) override
	{
		slab_free_sized(memory, bytes);
	}

	bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
	{
#if defined(__cpp_rtti)
		return dynamic_cast<const memory_resource *>(&other) != nullptr;
#else
		return this == &other;
#endif
	}
};

/* slab::resource: a memory_resource that exists as long as the process, fit for
 * std::pmr::set_default_resource() and for containers with static storage. */
inline std::pmr::memory_resource *resource()
{
	alignas(memory_resource) static unsigned char storage[sizeof(memory_resource)];
	static auto *const instance = ::new (static_cast<void *>(storage)) memory_resource;

	return instance;
}
#endif

} /* namespace slab */

#endif /* SLAB_SLAB_HPP */
