/* SPDX-License-Identifier: MIT */
/*
 * libslab: typed object caches for servers, after Linux's SLUB.
 *
 * A cache hands out objects of one size. Allocation and free are a restartable
 * sequence on slabs that the running CPU owns: no lock, no atomic instruction,
 * no per-thread state. The theory is in docs/design.md.
 *
 * Conventions of this header, unless a function says otherwise
 *   sizes            bytes
 *   errors           pointers: NULL and errno; ints: -errno (errno is set too)
 *   threads          every function may be called by any thread at any time;
 *                    nobody registers and nobody says goodbye. A cache must
 *                    not be used during or after its destruction.
 *   signals          slab_alloc(), slab_zalloc() and slab_free() are
 *                    async-signal-safe while they stay on their fast path,
 *                    which only the engine rseq has (slab_engine()). The other
 *                    engines take spinlocks: mutex in every call, cmpxchg16b in
 *                    all but an allocation from the CPU's current slab and a free
 *                    into a slab that the CPU owns. A handler that interrupts the
 *                    thread that holds such a lock waits for ever. The caller
 *                    cannot know beforehand which path a call takes (with debug
 *                    flags it is always the slow one), so a handler should only
 *                    free or allocate when the interrupted code cannot be inside
 *                    libslab.
 *   fork             parent and child may both go on using every cache. A handler
 *                    may fork when it interrupts a fork, not when it interrupts
 *                    another call of libslab.
 *   vfork            with the engine rseq, a child process that shares its parent's
 *                    memory (vfork(), or clone() with CLONE_VM but without CLONE_THREAD)
 *                    must not call libslab: it would get objects that threads of
 *                    the parent have. It may execute a program or exit; posix_spawn()
 *                    is safe. With SLAB_ENGINE=cmpxchg16b or mutex such a child may
 *                    call slab_alloc() and slab_free().
 *   cancellation     no function is a cancellation point: a request that comes
 *                    during a call acts at the thread's next cancellation point
 *                    after it. libslab calls callbacks and handlers with cancellation
 *                    disabled; they must not enable it. A thread with asynchronous
 *                    cancellation (PTHREAD_CANCEL_ASYNCHRONOUS) must not call libslab.
 *   output           nothing is printed on success.
 */
#ifndef SLAB_SLAB_H
#define SLAB_SLAB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SLAB_API __attribute__((visibility("default")))
#define SLAB_ATTR_(...) __attribute__((__VA_ARGS__))
#else
#define SLAB_API
#define SLAB_ATTR_(...)
#endif

/* free(slab_alloc(c)) is a compiler warning where the compiler can say it. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define SLAB_ALLOCATOR_(...) SLAB_ATTR_(malloc, malloc(__VA_ARGS__), warn_unused_result)
#else
#define SLAB_ALLOCATOR_(...) SLAB_ATTR_(malloc, warn_unused_result)
#endif

struct slab_cache;
struct rcu_flavor_struct;

/* Properties of a cache: the flags of slab_cache_create(). */
#define SLAB_CONSISTENCY_CHECKS (UINT64_C(1) << 0) /* F: check every alloc and free */
#define SLAB_RED_ZONE (UINT64_C(1) << 1)           /* Z: red zones left and right */
#define SLAB_POISON (UINT64_C(1) << 2)             /* P: poison free objects */
#define SLAB_STORE_USER (UINT64_C(1) << 3)         /* U: remember who allocated and freed */
#define SLAB_TRACE (UINT64_C(1) << 4)              /* T: print every alloc and free */
#define SLAB_FAILSLAB (UINT64_C(1) << 5)           /* A: take part in fault injection */
#define SLAB_HWCACHE_ALIGN (UINT64_C(1) << 16)     /* align objects to cache lines */
#define SLAB_TYPESAFE_BY_RCU (UINT64_C(1) << 17)   /* slabs go back after a grace period */
#define SLAB_NO_MERGE (UINT64_C(1) << 18)          /* never share slabs with another cache */
#define SLAB_PANIC (UINT64_C(1) << 19)             /* abort with a message if create fails */
#define SLAB_ZERO (UINT64_C(1) << 20)              /* every allocation is zeroed */
#define SLAB_RECLAIM_ACCOUNT (UINT64_C(1) << 21)   /* objects can be reclaimed: shown as such */
#define SLAB_HARDEN_FREE (UINT64_C(1) << 22)       /* see slab_free() */

/* The largest object of a cache, and the longest name. */
#define SLAB_MAX_OBJECT_SIZE ((size_t)32768)
#define SLAB_MAX_ALIGN ((size_t)4096)
#define SLAB_MAX_NAME 63

/*
 * Less common properties of a cache. All zero is the default. Fields are only
 * ever added at the end: slab_cache_create() passes the caller's size along,
 * and a field that the library does not know must be zero (EINVAL otherwise).
 */
struct slab_cache_args {
	/* Alignment in bytes, a power of two up to SLAB_MAX_ALIGN. 0: the
	 * largest power of two that divides the size, 16 at most. */
	size_t align;
	/*
	 * Constructor: called once per object, before the object is handed out
	 * for the first time after its slab was made; not on every allocation.
	 * Objects must be freed in their constructed state. Non-zero means "no
	 * memory": the objects already constructed stay, the allocation fails.
	 */
	int (*ctor)(void *obj, void *arg);
	/*
	 * Destructor: once per constructed object before its slab goes back, in
	 * any thread that takes memory back: one that frees, allocates, trims or
	 * destroys the cache, or libslab's own.
	 * libslab holds no lock while a constructor or a destructor runs. Both may use
	 * other caches like any other code: create, allocate, free, shrink, validate,
	 * destroy. A destructor may also fork and wait for locks. A constructor must not
	 * use its own cache. A destructor may free objects of its own cache;
	 * slab_cache_destroy() of it returns -EBUSY there. When an allocation within a
	 * destructor fails, libslab asks no cache to reclaim memory for it.
	 */
	void (*dtor)(void *obj, void *arg);
	void *arg; /* handed to every callback */
	/*
	 * Memory pressure: free what you can of the cache, return how many objects.
	 * Called when an allocation fails, of this cache or, unless it is this
	 * cache's limit that it ran into, of any other; by slab_reclaim(); and by
	 * libslab's control thread (<slab/memory.h>). In the thread that allocates,
	 * with no lock of libslab held, and possibly in several threads at once: so it
	 * must not wait for a lock that a thread holds while it allocates. What it
	 * allocates itself, and fails, just fails. slab_cache_destroy() of the cache
	 * waits for it, and is EBUSY within. A cache that has it is shown as reclaimable
	 * (SLAB_RECLAIM_ACCOUNT), and not merged.
	 */
	size_t (*reclaim)(struct slab_cache *cache, void *arg);
	/*
	 * The most bytes of slabs, at least one slab (64 KiB to 512 KiB); 0: no
	 * limit. Allocations that would need a slab more fail with ENOMEM, once
	 * what other CPUs and nodes hold free was taken back. Slabs with debug
	 * letters and guarded objects (64 KiB each) count, too. A cache with a
	 * limit is not merged.
	 */
	size_t limit;
	/*
	 * Objects kept for work that must not fail: so many allocations that would
	 * have failed, for whatever reason, get one of them. What comes free then fills
	 * the reserve before it serves other allocations. Creating the cache allocates
	 * them, and fails with ENOMEM when it cannot. They count against limits, but not
	 * as objects in use. slab_alloc_node() with SLAB_NODE_STRICT does not take them. A
	 * cache that has some is not merged.
	 */
	size_t reserve;
	const struct rcu_flavor_struct *rcu; /* the application's liburcu flavour */
	int (*isolate)(void *obj, void *arg);            /* movable objects: 0 = may move */
	int (*migrate)(void *from, void *to, void *arg); /* 0 = everything points to `to` */
};

/*
 * slab_cache_create_sized: what slab_cache_create() calls; args_size is the
 * caller's sizeof(struct slab_cache_args).
 */
SLAB_API struct slab_cache *slab_cache_create_sized(const char *name, size_t size,
						    const struct slab_cache_args *args,
						    size_t args_size, uint64_t flags);

/*
 * slab_cache_create: make a cache of objects of `size` bytes.
 *
 * @name   shown by slabinfo and in reports; 1 to SLAB_MAX_NAME printable
 *         characters without blanks; copied. "size-NUMBER" is reserved.
 * @size   bytes, 1 to SLAB_MAX_OBJECT_SIZE.
 * @args   further properties, or NULL.
 * @flags  SLAB_* flags or 0.
 *
 * Caches of the same layout without constructor share their slabs ("merging",
 * as in SLUB) unless SLAB_NO_MERGE or SLAB_MERGE=off: the same pointer is then
 * returned with one more reference, and both names are shown.
 *
 * Returns the cache, or NULL and errno:
 *   EINVAL   a bad name, size or alignment, an unknown flag, an argument that this
 *            library does not know; a limit below one slab; SLAB_ZERO with a
 *            constructor; SLAB_TYPESAFE_BY_RCU without args.rcu; isolate or migrate
 *            alone, or without a constructor
 *   EEXIST   a cache of this name exists
 *   ENOMEM   no memory, for the cache or for its reserve; or 835,584 caches exist
 * slab_create_error() gives the reason. With SLAB_PANIC the process aborts instead, with
 * a message that has the reason.
 * Creation compares the names of all caches: with 8,000 it takes 0.3 ms, during which a
 * fork and the creation of other caches wait.
 * Not async-signal-safe. May be called before main().
 */
static inline struct slab_cache *slab_cache_create(const char *name, size_t size,
						   const struct slab_cache_args *args,
						   uint64_t flags)
{
	return slab_cache_create_sized(name, size, args, sizeof(struct slab_cache_args), flags);
}

/*
 * slab_create_error: the reason why this thread's last slab_cache_create() failed, for
 * messages: a string constant such as "args.align is not a power of two". NULL when that
 * call succeeded, or when the thread has made none. Async-signal-safe.
 */
SLAB_API const char *slab_create_error(void);

/*
 * slab_cache_destroy: give back all memory of a cache.
 *
 * Returns 0, or -EBUSY when objects are still allocated: each is reported
 * ("Objects remaining in NAME on slab_cache_destroy") and the cache stays
 * usable. NULL is allowed. A merged cache only loses one reference, and with it
 * the name that came last, whichever name's creator destroys it.
 * The caller guarantees that nobody uses the cache any more; -EINVAL for a
 * cache that was destroyed before; -EBUSY also when the caller is one of the cache's own
 * callbacks (destructor, reclaim, isolate, migrate), the function that
 * slab_for_each_cache() calls for this cache, or the handler of a report about it.
 * The name stays taken until this returns. libslab holds no lock while destructors run and
 * while it writes reports: other threads can create and destroy caches, and fork,
 * meanwhile. The child of such a fork still has the cache. With args.rcu this waits for a
 * grace period; -EDEADLK within a read-side critical section. Not async-signal-safe.
 */
SLAB_API int slab_cache_destroy(struct slab_cache *cache);

/*
 * slab_cache_shrink: give all empty slabs back to the operating system.
 *
 * Takes back what CPUs hold (they continue meanwhile), frees empty slabs and
 * sorts the partial lists so that the fullest slabs are used first. The memory
 * of slabs that caches gave up earlier goes back as well.
 * Returns the number of slabs that this cache gave up, or -errno (EINVAL: it was
 * destroyed). Not async-signal-safe.
 */
SLAB_API int slab_cache_shrink(struct slab_cache *cache);

/*
 * slab_cache_validate: check all slabs of a cache.
 *
 * Returns the number of problems found, each of which is reported, or -errno.
 * CPUs continue meanwhile. Not async-signal-safe.
 */
SLAB_API long slab_cache_validate(struct slab_cache *cache);

/*
 * slab_free: give an object back. NULL is allowed.
 *
 * The object may have been allocated by any thread on any CPU. libslab
 * reports an object of another cache, an object that is freed twice in a row, and an
 * object of a slab whose objects are all free already (one of them was freed twice), and
 * leaves it alone.
 * A pointer to no object is undefined behaviour, except in a cache with SLAB_HARDEN_FREE
 * (SLAB_HARDEN=on in the environment sets it for all caches): there libslab reports it and
 * leaves it alone. Frees of such a cache leave the fast path. The first such cache installs
 * a handler of SIGSEGV and SIGBUS, as slab_cache_sample() does; on x86-64 it catches
 * pointers to unmapped memory. In caches with debug flags (<slab/debug.h>) libslab reports
 * every wrong free. docs/hunting-corruption.md has a table of which wrong frees each of
 * these detects.
 */
SLAB_API void slab_free(struct slab_cache *cache, void *obj);

/*
 * slab_alloc: an object, with undefined content, or in its constructed state
 * when the cache has a constructor, or zeroed when it has SLAB_ZERO.
 * Returns NULL and errno ENOMEM when there is no memory; errno is untouched
 * otherwise.
 */
SLAB_API void *slab_alloc(struct slab_cache *cache) SLAB_ALLOCATOR_(slab_free, 2);

/* slab_zalloc: an object filled with zero bytes, whatever a constructor left in
 * it. As slab_alloc() otherwise. */
SLAB_API void *slab_zalloc(struct slab_cache *cache) SLAB_ALLOCATOR_(slab_free, 2);

/*
 * slab_alloc_node: an object from a slab of NUMA node `node`, preferably; -1
 * means any. Another node's object is returned when the node has no memory.
 * With `node | SLAB_NODE_STRICT` it is NULL and ENOMEM instead, also when the system
 * gave that slab a page of another node (which costs a system call to find out).
 * NULL and EINVAL when there is no such node. Takes the node's lock.
 */
#define SLAB_NODE_STRICT 0x10000
SLAB_API void *slab_alloc_node(struct slab_cache *cache, int node) SLAB_ALLOCATOR_(slab_free, 2);

/* How far slab_alloc_bulk() goes for objects; the modes can be or-ed. */
#define SLAB_ALLOC_LOCAL 1u   /* what this CPU already holds */
#define SLAB_ALLOC_PARTIAL 2u /* also partial slabs of this node */
#define SLAB_ALLOC_NEW 4u     /* also fresh slabs */
#define SLAB_ALLOC_FULL 8u    /* all of n, or as many as memory allows */

/*
 * slab_alloc_bulk: up to n objects into objs[].
 *
 * Returns how many were delivered, objs[0 … return value - 1]; fewer than n
 * when the mode allows no more or memory is short. 0 and errno EINVAL for an
 * unknown mode. Objects are as from slab_alloc(). A cache with debug letters
 * holds nothing in advance: it delivers with SLAB_ALLOC_NEW or _FULL.
 */
SLAB_API size_t slab_alloc_bulk(struct slab_cache *cache, unsigned mode, size_t n, void **objs);

/*
 * slab_free_bulk: free objs[0 … n-1], all of this cache; NULL entries are
 * skipped. Runs of objects of one slab are freed in one step, so arrays in
 * allocation order are fastest.
 */
SLAB_API void slab_free_bulk(struct slab_cache *cache, size_t n, void *const *objs);

/* slab_cache_name: the name a cache was created with. slab_cache_size: the
 * object size that was asked for. Valid as long as the cache. */
SLAB_API const char *slab_cache_name(const struct slab_cache *cache);
SLAB_API size_t slab_cache_size(const struct slab_cache *cache);

/* slab_engine: "rseq", "cmpxchg16b" or "mutex": how CPUs commit their changes. */
SLAB_API const char *slab_engine(void);

/* slab_version: the library's version, as "0.1.0". */
SLAB_API const char *slab_version(void);

/* The name of a type without its leading keyword: "struct foo" is "foo". */
static inline const char *slab_type_name_(const char *type)
{
	const char *space = type;

	while (*space && *space != ' ')
		space++;
	return *space ? space + 1 : type;
}

static inline struct slab_cache *slab_cache_create_type_(const char *type, size_t size,
							 size_t align, uint64_t flags)
{
	struct slab_cache_args args = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

	args.align = align;
	return slab_cache_create(slab_type_name_(type), size, &args, flags);
}

#ifdef __cplusplus
#define SLAB_ALIGNOF_(type) alignof(type)
#else
#define SLAB_ALIGNOF_(type) _Alignof(type)
#endif

/*
 * SLAB_CACHE(struct foo, flags): a cache with name, size and alignment of the
 * type. Name a C++ type without template arguments or namespaces with blanks.
 */
#define SLAB_CACHE(type, flags)                                                                    \
	slab_cache_create_type_(#type, sizeof(type), SLAB_ALIGNOF_(type), (flags))

/*
 * SLAB_DEFINE_TYPED(entry, struct entry): functions on typed pointers
 *   struct slab_cache *entry_cache_create(const struct slab_cache_args *, uint64_t flags);
 *   struct entry *entry_alloc(struct slab_cache *);
 *   struct entry *entry_zalloc(struct slab_cache *);
 *   void entry_free(struct slab_cache *, struct entry *);
 * entry_cache_create() takes the type's alignment when args has none.
 */
#define SLAB_DEFINE_TYPED(prefix, type)                                                            \
	SLAB_ATTR_(unused)                                                                         \
	static inline struct slab_cache *prefix##_cache_create(const struct slab_cache_args *args, \
							       uint64_t flags)                     \
	{                                                                                          \
		struct slab_cache_args typed = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};                     \
		if (args)                                                                          \
			typed = *args;                                                             \
		if (!typed.align)                                                                  \
			typed.align = SLAB_ALIGNOF_(type);                                         \
		return slab_cache_create(#prefix, sizeof(type), &typed, flags);                    \
	}                                                                                          \
	SLAB_ATTR_(unused) static inline void prefix##_free(struct slab_cache *cache, type *obj)   \
	{                                                                                          \
		slab_free(cache, obj);                                                             \
	}                                                                                          \
	SLAB_ATTR_(unused) static inline type *prefix##_alloc(struct slab_cache *cache)            \
	{                                                                                          \
		return (type *)slab_alloc(cache);                                                  \
	}                                                                                          \
	SLAB_ATTR_(unused) static inline type *prefix##_zalloc(struct slab_cache *cache)           \
	{                                                                                          \
		return (type *)slab_zalloc(cache);                                                 \
	}                                                                                          \
	struct slab_typed_##prefix##_needs_a_semicolon_

#ifdef __cplusplus
}
#endif

#endif /* SLAB_SLAB_H */
