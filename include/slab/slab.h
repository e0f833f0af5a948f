/* SPDX-License-Identifier: MIT */
/*
 * libslab: typed object caches for servers, with the design of Linux's SLUB.
 *
 * A cache allocates objects of one size from slabs, blocks of 64 to 512 KiB. Allocation
 * and free are a restartable sequence on slabs that the running CPU owns: no lock, no
 * atomic instruction, no state per thread. docs/design.md has the theory,
 * docs/glossary.md the terms.
 *
 * Conventions of all headers, unless a function says otherwise
 *   sizes            bytes.
 *   errors           A function that returns a pointer returns NULL and sets errno. A
 *                    function that returns a number returns -errno and sets errno too.
 *   output           libslab prints nothing on success.
 *
 * Each function has a line on safety:
 *   MT-safe          Any thread may call it at any time; threads need no registration or
 *                    teardown. A cache must not be used during or after its destruction.
 *   async-signal-safe
 *                    A signal handler may call it. slab_alloc(), slab_zalloc() and
 *                    slab_free() are async-signal-safe while they stay on their fast path,
 *                    which only the engine rseq has (slab_engine()). The other engines take
 *                    spinlocks: mutex in every call, cmpxchg16b in all but an allocation
 *                    from the CPU's current slab and a free into a slab that the CPU owns.
 *                    A handler that interrupts the thread that holds such a lock waits
 *                    forever. The caller cannot know in advance which path a call takes
 *                    (with debug flags it is always the slow one). So a handler should
 *                    allocate or free only if the interrupted code cannot be inside
 *                    libslab.
 *   fork-safe        Another thread may fork during the call; parent and child may both
 *                    continue to use every cache. A handler may fork if it interrupts a
 *                    fork, but not if it interrupts another call of libslab.
 *   cancel-safe      The call is no cancellation point: a request during the call takes
 *                    effect at the thread's next cancellation point after it. libslab calls
 *                    callbacks and handlers with cancellation disabled; they must not
 *                    enable it. A thread with asynchronous cancellation
 *                    (PTHREAD_CANCEL_ASYNCHRONOUS) must not call libslab.
 *
 * vfork: with the engine rseq, a child process that shares its parent's memory (vfork(),
 * or clone() with CLONE_VM but without CLONE_THREAD) must not call libslab: it would get
 * objects that threads of the parent have. It may execute a program or exit;
 * posix_spawn() is safe. With SLAB_ENGINE=cmpxchg16b or mutex such a child may call
 * slab_alloc() and slab_free().
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

/* What is called most: the caller jumps through its GOT, which saves the stub of the PLT. */
#define SLAB_API_HOT SLAB_API
#if defined(__has_attribute)
#if __has_attribute(noplt)
#undef SLAB_API_HOT
#define SLAB_API_HOT SLAB_API SLAB_ATTR_(noplt)
#endif
#endif

/* Compilers that can warn about free(slab_alloc(c)). A function named as deallocator is not
 * inlined, so the library itself does without. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11 && !defined(SLAB_LIBRARY)
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
#define SLAB_STORE_USER (UINT64_C(1) << 3)         /* U: track allocations and frees */
#define SLAB_TRACE (UINT64_C(1) << 4)              /* T: print every alloc and free */
#define SLAB_FAILSLAB (UINT64_C(1) << 5)           /* A: apply fault injection */
#define SLAB_HWCACHE_ALIGN (UINT64_C(1) << 16)     /* align objects to cache lines */
#define SLAB_TYPESAFE_BY_RCU (UINT64_C(1) << 17)   /* release slabs after a grace period */
#define SLAB_NO_MERGE (UINT64_C(1) << 18)          /* never share slabs with another cache */
#define SLAB_PANIC (UINT64_C(1) << 19)             /* abort with a message if create fails */
#define SLAB_ZERO (UINT64_C(1) << 20)              /* zero every object at its allocation */
#define SLAB_RECLAIM_ACCOUNT (UINT64_C(1) << 21)   /* objects can be reclaimed */
#define SLAB_HARDEN_FREE (UINT64_C(1) << 22)       /* report frees of invalid pointers */

/* Limits: object size and alignment in bytes, length of a name in characters. */
#define SLAB_MAX_OBJECT_SIZE ((size_t)32768)
#define SLAB_MAX_ALIGN ((size_t)4096)
#define SLAB_MAX_NAME 63

/*
 * Further properties of a cache. All zero is the default. Later versions add fields at
 * the end only: slab_cache_create() passes the caller's size along. A field that the
 * library does not know must be zero (EINVAL otherwise).
 */
struct slab_cache_args {
	/* Alignment in bytes, a power of two up to SLAB_MAX_ALIGN. 0: the
	 * largest power of two that divides the size, 16 at most. */
	size_t align;
	/*
	 * Constructor: called once per object, before the object is first allocated after
	 * its slab was created, not on every allocation. Objects must be freed in their
	 * constructed state. Non-zero means "no memory": the allocation fails, and the
	 * objects already constructed stay so.
	 */
	int (*ctor)(void *obj, void *arg);
	/*
	 * Destructor: called once per constructed object before its slab is released, by any
	 * thread that releases memory: one that frees, allocates, trims or destroys the
	 * cache, or libslab's own.
	 * libslab holds no lock while a constructor or a destructor runs. Both may use
	 * other caches like any other code: create, allocate, free, shrink, validate,
	 * destroy. A destructor may also fork and wait for locks. A constructor must not
	 * use its own cache. A destructor may free objects of its own cache;
	 * slab_cache_destroy() of it returns -EBUSY there. If an allocation within a
	 * destructor fails, libslab calls no reclaim function for it.
	 */
	void (*dtor)(void *obj, void *arg);
	void *arg; /* passed to every callback */
	/*
	 * Reclaim: free objects of the cache and return their number. libslab calls it
	 * when an allocation fails, in this cache, and also in other caches unless the
	 * limit of this cache was reached; in slab_reclaim(); and in its control thread
	 * (<slab/memory.h>). It runs in the thread that allocates, with no lock of libslab
	 * held, and possibly in several threads at once. So it must not wait for a lock
	 * that a thread holds while it allocates. An allocation within it that finds no
	 * memory fails at once. slab_cache_destroy() of the cache waits for it, and returns
	 * -EBUSY within it. slabinfo shows the cache as reclaimable
	 * (SLAB_RECLAIM_ACCOUNT). libslab does not merge it.
	 */
	size_t (*reclaim)(struct slab_cache *cache, void *arg);
	/*
	 * Limit: most bytes of slabs, at least one slab (64 KiB to 512 KiB); 0: no limit.
	 * Allocations that would need another slab fail with ENOMEM, after libslab took
	 * back free slabs of other CPUs and nodes. Slabs with debug flags and guarded
	 * objects (64 KiB each) count, too. libslab does not merge a cache with a limit.
	 */
	size_t limit;
	/*
	 * Reserve: number of objects held back, for work that must not fail. libslab uses
	 * one when an allocation would otherwise fail, for whatever reason. Freed objects
	 * fill the reserve before they serve other allocations. Creating the cache
	 * allocates them, and fails with ENOMEM if it cannot. They count against limits,
	 * but not as objects in use. slab_alloc_node() with SLAB_NODE_STRICT does not use
	 * them. libslab does not merge a cache with a reserve.
	 */
	size_t reserve;
	const struct rcu_flavor_struct *rcu; /* the application's liburcu flavour: <slab/rcu.h> */
	/* Movable objects, see slab_cache_defrag() of <slab/memory.h>. */
	int (*isolate)(void *obj, void *arg);            /* 0: obj can be moved now */
	int (*migrate)(void *from, void *to, void *arg); /* 0: all pointers lead to `to` now */
};

/*
 * slab_cache_create_sized: the function that slab_cache_create() calls.
 *
 * @args_size  the caller's sizeof(struct slab_cache_args)
 *
 * Returns, errors and safety: as slab_cache_create().
 */
SLAB_API struct slab_cache *slab_cache_create_sized(const char *name, size_t size,
						    const struct slab_cache_args *args,
						    size_t args_size, uint64_t flags);

/*
 * slab_cache_create: create a cache of objects of `size` bytes.
 *
 * @name   the name in slabinfo and reports; 1 to SLAB_MAX_NAME printable
 *         characters without blanks; copied. "size-NUMBER" is reserved.
 * @size   bytes, 1 to SLAB_MAX_OBJECT_SIZE
 * @args   further properties, or NULL
 * @flags  SLAB_* flags or 0
 *
 * Caches of the same layout without constructor share slabs ("merging", as in SLUB)
 * unless SLAB_NO_MERGE or SLAB_MERGE=off prevents it. The function then returns the
 * same pointer with one more reference, and slabinfo shows both names.
 *
 * Returns the cache, or NULL and errno:
 *   EINVAL   an invalid name, size or alignment; an unknown flag; an argument that
 *            this library does not know; a limit below one slab; SLAB_ZERO with a
 *            constructor; SLAB_TYPESAFE_BY_RCU without args.rcu; isolate or migrate
 *            alone, or without a constructor
 *   EEXIST   a cache of this name exists
 *   ENOMEM   no memory, for the cache or for its reserve; or 643,072 caches exist
 * slab_create_error() returns the reason. With SLAB_PANIC the process aborts instead, with
 * a message that has the reason.
 * Creation compares the names of all caches. With 8,000 caches it takes 0.3 ms, during
 * which a fork and the creation of other caches wait.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe. May be called before main().
 */
static inline struct slab_cache *slab_cache_create(const char *name, size_t size,
						   const struct slab_cache_args *args,
						   uint64_t flags)
{
	return slab_cache_create_sized(name, size, args, sizeof(struct slab_cache_args), flags);
}

/*
 * slab_create_error: why this thread's last slab_cache_create() failed, for messages.
 *
 * Returns a string constant such as "args.align is not a power of two", or NULL if that
 * call succeeded, or if the thread has made none.
 * MT-safe, fork-safe, cancel-safe, async-signal-safe.
 */
SLAB_API const char *slab_create_error(void);

/*
 * slab_cache_destroy: destroy a cache and release its slabs. NULL is allowed.
 *
 * The caller guarantees that no thread uses the cache any more. If objects are still
 * allocated, libslab reports each ("Objects remaining in NAME on slab_cache_destroy"), and
 * the cache stays usable. A merged cache loses one reference, and the name that was added
 * last, whichever name's creator calls this.
 * The name stays in use until the call returns. libslab holds no lock while destructors
 * run and while it writes reports: other threads can create and destroy caches, and fork,
 * meanwhile. The child of such a fork still has the cache. With args.rcu the call waits
 * for a grace period.
 *
 * Returns 0, or
 *   -EBUSY    objects are still allocated; or the caller is one of the cache's own
 *             callbacks (destructor, reclaim, isolate, migrate), the function that
 *             slab_for_each_cache() calls for this cache, or the handler of a report
 *             about it
 *   -EINVAL   the cache was destroyed before, or belongs to slab_malloc()
 *   -EDEADLK  args.rcu is set and the caller is within a read-side critical section
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API int slab_cache_destroy(struct slab_cache *cache);

/*
 * slab_cache_shrink: return all empty slabs of a cache to the operating system.
 *
 * Takes back the slabs of CPUs (which go on working), releases empty slabs and sorts the
 * partial lists so that the fullest slabs are used first, as SLUB does. It also returns
 * the memory of slabs that caches released earlier.
 *
 * Returns the number of slabs that this cache released, or -EINVAL: it was destroyed.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API int slab_cache_shrink(struct slab_cache *cache);

/*
 * slab_cache_validate: check all slabs of a cache: counts, freelists, and with debug
 * flags every byte whose value is known. Other threads may use the cache meanwhile.
 *
 * Returns the number of problems found, each of which libslab reports, or -EINVAL: the
 * cache was destroyed.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API long slab_cache_validate(struct slab_cache *cache);

/*
 * slab_free: free an object of a cache. NULL is allowed.
 *
 * Any thread on any CPU may have allocated the object. libslab reports an object of
 * another cache, an object that is freed twice in a row, and an object of a slab whose
 * objects are all free already (one of them was freed twice), and does not free it.
 * A pointer to no object is undefined behaviour, except in a cache with SLAB_HARDEN_FREE
 * (SLAB_HARDEN=on in the environment sets it for all caches): there libslab reports it and
 * does nothing else. Frees of such a cache leave the fast path. The first such cache
 * installs a handler of SIGSEGV and SIGBUS, as slab_cache_sample() does; on x86-64 it
 * catches pointers to unmapped memory. In caches with debug flags (<slab/debug.h>) libslab
 * reports every invalid free. docs/hunting-corruption.md has a table of the invalid frees
 * that each of these detects.
 * MT-safe, fork-safe, cancel-safe; async-signal-safe on the fast path (see above).
 */
SLAB_API_HOT void slab_free(struct slab_cache *cache, void *obj);

/*
 * slab_alloc: allocate an object of a cache.
 *
 * The object has undefined contents. If the cache has a constructor, the object is in its
 * constructed state; if it has SLAB_ZERO, the object is zeroed.
 * Algorithm: SLUB's per-CPU slabs, as restartable sequences (docs/design.md 6).
 *
 * Returns the object, or NULL and errno ENOMEM: there is no memory, a limit is reached, or
 * the constructor failed. errno is unchanged otherwise.
 * MT-safe, fork-safe, cancel-safe; async-signal-safe on the fast path (see above).
 */
SLAB_API_HOT void *slab_alloc(struct slab_cache *cache) SLAB_ALLOCATOR_(slab_free, 2);

/*
 * slab_zalloc: allocate an object and fill it with zero bytes, also if the cache has a
 * constructor. Otherwise as slab_alloc().
 */
SLAB_API_HOT void *slab_zalloc(struct slab_cache *cache) SLAB_ALLOCATOR_(slab_free, 2);

/*
 * slab_alloc_node: allocate an object from a slab of a NUMA node.
 *
 * @node  node number; -1: any node. If the node has no memory, the function returns an
 *        object of another node. With `node | SLAB_NODE_STRICT` it fails instead, also
 *        if the system gave the slab pages of another node; this check costs a system call.
 *
 * Returns the object, or NULL and errno: ENOMEM as for slab_alloc(); EINVAL: there is no
 * such node.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe: takes the node's lock.
 */
#define SLAB_NODE_STRICT 0x10000
SLAB_API_HOT void *slab_alloc_node(struct slab_cache *cache, int node)
	SLAB_ALLOCATOR_(slab_free, 2);

/* Sources of slab_alloc_bulk(); they can be or-ed. */
#define SLAB_ALLOC_LOCAL 1u   /* objects that this CPU holds */
#define SLAB_ALLOC_PARTIAL 2u /* also partial slabs of this node */
#define SLAB_ALLOC_NEW 4u     /* also fresh slabs */
#define SLAB_ALLOC_FULL 8u    /* all of n, or as many as memory allows */

/*
 * slab_alloc_bulk: allocate up to n objects into objs[].
 *
 * @mode  SLAB_ALLOC_* flags. In a cache with debug flags CPUs hold no objects, so it needs
 *        SLAB_ALLOC_NEW or _FULL.
 *
 * Returns the number of objects allocated, objs[0 … return value - 1]: fewer than n if the
 * mode allows no more or memory is short (errno ENOMEM with SLAB_ALLOC_FULL). 0 and errno
 * EINVAL for an unknown mode. The objects are as from slab_alloc().
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API size_t slab_alloc_bulk(struct slab_cache *cache, unsigned mode, size_t n, void **objs);

/*
 * slab_free_bulk: free objs[0 … n-1], all of this cache; NULL entries are skipped.
 *
 * It frees runs of objects of one slab in one step, so arrays in allocation order are
 * fastest. It reports the same misuse as slab_free(), except an object that the same call
 * frees twice in a row.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API void slab_free_bulk(struct slab_cache *cache, size_t n, void *const *objs);

/*
 * slab_cache_name: the name that a cache was created with, valid as long as the cache.
 * slab_cache_size: the object size in bytes that it was created with.
 * Both: MT-safe, fork-safe, cancel-safe, async-signal-safe.
 */
SLAB_API const char *slab_cache_name(const struct slab_cache *cache);
SLAB_API size_t slab_cache_size(const struct slab_cache *cache);

/*
 * slab_engine: the mechanism by which CPUs commit changes to slabs: "rseq", "cmpxchg16b" or
 * "mutex". MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API const char *slab_engine(void);

/* slab_version: the library's version, as "0.1.0". Safe in every respect. */
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
 * SLAB_CACHE(struct foo, flags): create a cache with name, size and alignment of a type.
 * C++ types must be named without template arguments or namespaces with blanks.
 */
#define SLAB_CACHE(type, flags)                                                                    \
	slab_cache_create_type_(#type, sizeof(type), SLAB_ALIGNOF_(type), (flags))

/*
 * SLAB_DEFINE_TYPED(entry, struct entry): functions on typed pointers
 *   struct slab_cache *entry_cache_create(const struct slab_cache_args *, uint64_t flags);
 *   struct entry *entry_alloc(struct slab_cache *);
 *   struct entry *entry_zalloc(struct slab_cache *);
 *   void entry_free(struct slab_cache *, struct entry *);
 * entry_cache_create() uses the type's alignment if args has none.
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
