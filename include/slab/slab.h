/* SPDX-License-Identifier: MIT */
/*
 * libslab: typed object caches for servers: SLUB with arrays per CPU, as Linux since 7.0.
 *
 * A cache allocates objects of one size from slabs, blocks of 16 to 512 KiB. Each CPU has an array
 * of free objects. It allocates and frees by restartable sequences (rseq(2)) on that array, without
 * a lock and without an atomic instruction. docs/design.md explains the design; docs/glossary.md
 * defines the terms.
 *
 * Conventions of all headers, unless a function says otherwise
 *   sizes            A size is a number of bytes.
 *   errors           On failure, a function that returns a pointer returns NULL and sets
 *                    errno. A function that returns a number returns -errno and sets errno.
 *   caches           A cache argument is what slab_cache_create() returned, not NULL. Functions
 *                    that return -EINVAL for a destroyed cache return it for NULL, too.
 *   output           libslab writes nothing to stdout. It writes to stderr only when it finds
 *                    a problem, and for the debug flag T.
 *   stack            Allocations and frees need at most 4 KiB of stack, or 8 KiB where they
 *                    record a call site on aarch64. The other functions need 8 KiB, and the
 *                    report of an error 16 KiB; callbacks come on top.
 *
 * The description of each function, or of its header, has these words on safety:
 *   MT-safe          Any thread may call the function at any time. Threads need no
 *                    registration or teardown. The program must not use a cache during or
 *                    after its destruction.
 *   async-signal-safe
 *                    A signal handler may call the function. slab_alloc(), slab_zalloc()
 *                    and slab_free() are async-signal-safe on the fast path of the engine
 *                    rseq alone (slab_engine()). Elsewhere they take locks: if a handler
 *                    interrupts the thread that holds one and needs it, it waits forever.
 *                    The caller cannot know in advance whether a call stays on the fast
 *                    path (with debug flags, no call does). So a handler should allocate or
 *                    free only if the interrupted code cannot be inside libslab.
 *   fork-safe        Another thread may fork during the call. Parent and child may both
 *                    continue to use every cache. The child lacks at most the free objects
 *                    that other threads were moving at that moment. A signal
 *                    handler may fork if it interrupts fork(); if it interrupts a call of
 *                    libslab, only while the process has never had another thread. The
 *                    control thread is one; glibc before 2.32 and musl count as threaded.
 *   cancel-safe      The function is no cancellation point; a request takes effect at the
 *                    thread's next one. Callbacks and handlers run with cancellation
 *                    disabled and must not enable it. A thread with asynchronous
 *                    cancellation must not call libslab. With glibc before 2.41, a signal
 *                    handler that interrupts a cancellation point disables cancellation
 *                    before it calls libslab, and restores it afterwards.
 *
 * vfork: with the engine rseq, a child that shares its parent's memory (vfork(), or clone() with
 * CLONE_VM alone) must not call libslab: it would get objects of the parent's threads. It may
 * execute a program or exit; posix_spawn() is safe. With another engine it may call slab_alloc()
 * and slab_free(); with libslab_malloc.so a child of vfork() may with each engine.
 */
#ifndef SLAB_SLAB_H
#define SLAB_SLAB_H

#if __SIZEOF_POINTER__ != 8
#error "libslab needs 64-bit pointers: -m32 and -mx32 are not supported."
#endif

#include <stddef.h>

/* <stdint.h> of the C library includes its <features.h>, behind which a program cannot define
 * _GNU_SOURCE any more. */
#ifdef __UINT64_TYPE__
typedef __UINT64_TYPE__ uint64_t;
#else
#include <stdint.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SLAB_API __attribute__((visibility("default")))
#define SLAB_ATTR_(...) __attribute__((__VA_ARGS__))
/* Stands behind the call in a typed function, and is no instruction. Compilers do not merge it
 * with that of another one, and so not the calls before it, whose return addresses tell the
 * functions apart. Nor can the call be a jump, which leaves no return address in the function. */
#define SLAB_CALLED_BY_(function) __asm__ volatile("/* " #function " */")
#else
#define SLAB_API
#define SLAB_ATTR_(...)
#define SLAB_CALLED_BY_(function) ((void)0)
#endif

/* For the functions that programs call most: the caller jumps through its GOT, without the
 * stub in the PLT. */
#define SLAB_API_HOT SLAB_API
#if defined(__has_attribute)
#if __has_attribute(noplt)
#undef SLAB_API_HOT
#define SLAB_API_HOT SLAB_API SLAB_ATTR_(noplt)
#endif
#endif

/* For the functions that free: clang neither merges their calls nor makes a jump of them, so a
 * report has the line. */
#define SLAB_API_SITE SLAB_API_HOT
#if defined(__has_attribute)
#if __has_attribute(nomerge)
#undef SLAB_API_SITE
#define SLAB_API_SITE SLAB_API_HOT SLAB_ATTR_(nomerge, not_tail_called)
#endif
#endif

/* The typed functions that macros define: inlined without optimisation, too, so that the compiler
 * sees what they call. `artificial` tells debuggers that the line that calls them is the site. */
#define SLAB_INLINE_(...) SLAB_ATTR_(always_inline, artificial, __VA_ARGS__) static inline

/* Compilers warn about NULL for the cache. libslab itself is compiled without it: it checks. */
#ifndef SLAB_LIBRARY
#define SLAB_NEEDS_CACHE_ SLAB_ATTR_(nonnull(1))
#else
#define SLAB_NEEDS_CACHE_
#endif

/* Some compilers warn about free(slab_alloc(c)) if the attribute names the deallocator. They
 * do not inline a function that is named there, so libslab itself is compiled without it. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11 && !defined(SLAB_LIBRARY)
#define SLAB_ALLOCATOR_(...) SLAB_ATTR_(malloc, malloc(__VA_ARGS__), warn_unused_result)
#else
#define SLAB_ALLOCATOR_(...) SLAB_ATTR_(malloc, warn_unused_result)
#endif

struct slab_cache;
struct rcu_flavor_struct;

/* Properties of a cache: the flags of slab_cache_create(). <slab/debug.h> describes the first
 * six, the debug flags. */
#define SLAB_CONSISTENCY_CHECKS (1ul << 0) /* F: check every alloc and free */
#define SLAB_RED_ZONE (1ul << 1)           /* Z: red zones left and right */
#define SLAB_POISON (1ul << 2)             /* P: poison free objects */
#define SLAB_STORE_USER (1ul << 3)         /* U: track allocations and frees */
#define SLAB_TRACE (1ul << 4)              /* T: print every alloc and free */
#define SLAB_FAILSLAB (1ul << 5)           /* A: apply fault injection */
#define SLAB_HWCACHE_ALIGN (1ul << 16)     /* align to a cache line, small objects to a part */
#define SLAB_TYPESAFE_BY_RCU (1ul << 17)   /* release slabs after a grace period */
#define SLAB_PANIC (1ul << 19)             /* abort if the cache cannot be created */
#define SLAB_ZERO (1ul << 20)              /* zero every object at its allocation */
#define SLAB_RECLAIM_ACCOUNT (1ul << 21)   /* slabinfo: "reclaimable" */
#define SLAB_HARDEN_FREE (1ul << 22)       /* report frees of invalid pointers */
#define SLAB_APART (1ul << 24)             /* share no address with another cache, ever */

/* The largest object size and alignment in bytes; the length of the longest name. */
#define SLAB_MAX_OBJECT_SIZE ((size_t)32768)
#define SLAB_MAX_ALIGN ((size_t)4096)
#define SLAB_MAX_NAME 63

/*
 * Further properties of a cache. A member of zero is the default. Later versions add members at the
 * end only, and slab_cache_create() passes the size of the caller's struct to the library. If a
 * member that the library does not know is not zero, creation fails with EINVAL.
 */
struct slab_cache_args {
	/* Alignment in bytes, a power of two up to SLAB_MAX_ALIGN. 0: 16 if 16 divides the
	 * object size, otherwise 8. An alignment of less than 8 counts as 8. */
	size_t align;
	/*
	 * Constructor: libslab calls it once per object, before the first allocation of the object
	 * from a new slab, and not at later allocations. The program must free objects in their
	 * constructed state. If the constructor returns non-zero, the allocation fails with ENOMEM;
	 * objects constructed before stay constructed.
	 */
	int (*ctor)(void *obj, void *arg);
	/*
	 * Destructor: libslab calls it once per constructed object before it releases the object's
	 * slab. Every thread that releases memory may call it: a thread that frees, allocates,
	 * trims or destroys a cache, or libslab's control thread. The control thread calls no
	 * callback once exit() runs the program's handlers and destructors.
	 *
	 * libslab holds no lock while a constructor or a destructor runs. Both may create, allocate
	 * from, free into, shrink, validate and destroy other caches. A destructor may also fork,
	 * wait for locks, and free objects of its own cache; it cannot destroy its own cache
	 * (-EBUSY). A constructor must not use its own cache. If an allocation within a destructor
	 * fails, libslab calls no reclaim function for it.
	 */
	void (*dtor)(void *obj, void *arg);
	/*
	 * Passed to every callback. No callback may be left by longjmp() or an exception. The code
	 * of callbacks, and what arg points to, must stay until slab_cache_destroy() has returned:
	 * a library destroys its caches before it is unloaded, for instance in its destructor.
	 */
	void *arg;
	/*
	 * Reclaim: the function frees objects of the cache and returns their number. libslab calls
	 * it before an allocation from this cache fails. It also calls it before an allocation from
	 * another cache fails, unless the other cache's own limit is the cause; in slab_reclaim();
	 * and under memory pressure (<slab/memory.h>).
	 *
	 * The function runs in the thread that needs memory, with no lock of libslab held. Several
	 * threads may run it at once. It must not wait for a lock that a thread holds while it
	 * allocates (pthread_mutex_trylock()). If an allocation within it finds no memory,
	 * the allocation fails at once. slab_cache_destroy() waits until no other thread runs the
	 * function, and returns -EBUSY if the function itself calls it. slabinfo shows the cache as
	 * reclaimable (SLAB_RECLAIM_ACCOUNT).
	 */
	size_t (*reclaim)(struct slab_cache *cache, void *arg);
	/*
	 * Limit: the most bytes of slabs that the cache may have, at least one slab (16 KiB to 256
	 * KiB, depending on the object size); 0: no limit. When an allocation needs a slab beyond
	 * the limit, libslab takes back the free objects of all CPUs and calls args.reclaim.
	 * If that is not enough, the allocation fails with ENOMEM. Slabs with debug flags count;
	 * guarded objects (slab_cache_sample()) do not: the process has 1024 of them at most.
	 */
	size_t limit;
	/*
	 * Reserve: the number of objects that libslab holds back for allocations that must not
	 * fail. When an allocation would otherwise fail, libslab returns one of them. Freed objects
	 * fill the reserve before they serve other allocations. slab_cache_create() allocates the
	 * reserve, and fails with ENOMEM if it cannot. The reserve counts against limits, but its
	 * objects do not count as in use. slab_alloc_node() with SLAB_NODE_STRICT does not use it.
	 */
	size_t reserve;
	const struct rcu_flavor_struct *rcu; /* the application's liburcu flavour: <slab/rcu.h> */
	/* Movable objects, see slab_cache_defrag() of <slab/memory.h>. */
	int (*isolate)(void *obj, void *arg);            /* 0: obj can be moved now */
	int (*migrate)(void *from, void *to, void *arg); /* 0: all pointers lead to `to` now */
	/* With SLAB_APART: the most bytes of address space that the cache may hold, at least one
	 * slab; 0: no limit. When an allocation needs more, it does as at args.limit, and fails
	 * with ENOMEM. */
	size_t address_limit;
};

/*
 * slab_cache_create_sized: the function that slab_cache_create() calls.
 *
 * @args_size  the caller's sizeof(struct slab_cache_args)
 *
 * Returns the cache or an error, as slab_cache_create() does.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API struct slab_cache *slab_cache_create_sized(const char *name, size_t size,
						    const struct slab_cache_args *args,
						    size_t args_size, uint64_t flags);

/*
 * slab_cache_create: create a cache of objects of `size` bytes.
 *
 * @name   the name in slabinfo and reports: 1 to SLAB_MAX_NAME printable characters without blanks.
 *         libslab copies it. Names that begin with "size-" and a digit are reserved.
 * @size   bytes, 1 to SLAB_MAX_OBJECT_SIZE
 * @args   further properties, or NULL
 * @flags  SLAB_* flags or 0
 *
 * Each cache has slabs of its own: unlike SLUB, libslab never merges caches of the same layout.
 *
 * With SLAB_APART, or SLAB_TYPES=apart in the environment, an address that had an object of this
 * cache never has one of another cache. Slabs that the cache releases give their pages back to the
 * system, and their addresses are inaccessible until the cache uses them again. A cache that is
 * created by the name of a destroyed one, with the same object size and alignment, gets its
 * addresses. docs/environment.md says what this costs, and what is not covered.
 *
 * Returns the cache, or NULL and errno:
 *   EINVAL   an invalid name, size or alignment; an unknown flag; a member of args that
 *            this library does not know; a limit below one slab; SLAB_ZERO with a
 *            constructor; SLAB_TYPESAFE_BY_RCU without args.rcu; isolate or migrate
 *            alone, or without a constructor
 *   EEXIST   a cache of this name exists
 *   ENOMEM   no memory, for the cache or for its reserve; or 491,520 caches exist
 * slab_create_error() returns the reason. With SLAB_PANIC libslab calls the handler of
 * slab_set_oom_handler() (<slab/nofail.h>) for ENOMEM. Otherwise the process aborts, after it wrote
 * the reason to stderr.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe. A program may call the function before
 * main().
 */
static inline struct slab_cache *slab_cache_create(const char *name, size_t size,
						   const struct slab_cache_args *args,
						   uint64_t flags)
{
	return slab_cache_create_sized(name, size, args, sizeof(struct slab_cache_args), flags);
}

/*
 * slab_create_error: why the calling thread's last slab_cache_create() failed, as text for an error
 * message.
 *
 * Returns a string constant such as "args.align is not a power of two", or NULL if that call
 * succeeded, or if the thread has made none.
 * MT-safe, fork-safe, cancel-safe, async-signal-safe.
 */
SLAB_API const char *slab_create_error(void);

/*
 * slab_cache_destroy: destroy a cache and release its slabs. NULL is allowed.
 *
 * The caller guarantees that no thread uses the cache any more. If objects are still allocated
 * (unused ones of a reserve do not count), libslab reports them ("Objects remaining in NAME on
 * slab_cache_destroy"), and the cache stays usable. The name stays in use until the call returns.
 * libslab holds no lock while it runs destructors or writes reports. Other threads can create and
 * destroy caches, and fork, meanwhile; the child of such a fork still has the cache. With args.rcu
 * the call waits for grace periods. It also waits while another thread runs the cache's reclaim
 * function, or serves a request of slabinfo on the cache. So the caller must not hold a lock that
 * the cache's callbacks take.
 *
 * Returns 0, or
 *   -EBUSY    objects are still allocated; or the caller is one of the cache's own
 *             callbacks (destructor, reclaim, isolate, migrate), the function that
 *             slab_for_each_cache() calls for this cache, or the handler of a report
 *             about it
 *   -EINVAL   the cache was destroyed before, belongs to slab_malloc(), or is defined by
 *             SLAB_DEFINE_CACHE()
 *   -EDEADLK  args.rcu is set and the caller is within a read-side critical section
 *   -EPERM    args.rcu is set, CPUs hold freed objects, and a system call filter that was
 *             installed later refuses membarrier(2) and sched_setaffinity(2)
 *
 * libslab reports an allocation from a destroyed cache, a free to it and its second destruction,
 * with its name and the stack of its destruction. It recognizes the 256 caches that were destroyed
 * last. The memory of others may be that of a new cache.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API int slab_cache_destroy(struct slab_cache *cache);

/*
 * slab_cache_shrink: return all empty slabs of a cache to the operating system.
 *
 * The function returns the free objects of CPUs to their slabs, and releases all empty slabs. Other
 * threads go on working meanwhile. It also returns the memory of slabs that caches released
 * earlier.
 *
 * Returns the number of slabs that this cache released, or -EINVAL: the cache was destroyed.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API int slab_cache_shrink(struct slab_cache *cache);

/*
 * slab_cache_validate: check all slabs of a cache. libslab checks counts and maps of free objects,
 * and with debug flags every byte whose value is known. Other threads may use the cache meanwhile.
 *
 * Returns the number of problems found, each of which libslab reports, or -EINVAL: the cache was
 * destroyed.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API long slab_cache_validate(struct slab_cache *cache);

/*
 * slab_free: free an object of a cache. NULL is allowed.
 *
 * Any thread on any CPU may have allocated the object. In every cache libslab reports two kinds
 * of misuse, and does not free the object: an object of another cache, and one that was freed
 * before. The call reports such an object if it is the newest of the CPU's array. Otherwise the
 * report comes when the object returns to its slab, and never if the program allocates the object
 * again before. A pointer that leads to no object is undefined behaviour.
 *
 * In a cache with SLAB_HARDEN_FREE the call reports every double free, and each pointer that leads
 * to no object. SLAB_HARDEN=on in the environment sets this flag for all caches. Such a cache takes
 * each object from its slab and returns it there, under a lock: a pair of an allocation and a free
 * takes some 20 times as long. The first such cache installs a handler of SIGSEGV and SIGBUS, as
 * slab_cache_sample() does; the handler catches pointers to unmapped memory. In caches with debug
 * flags (<slab/debug.h>) libslab reports every invalid free. docs/hunting-corruption.md has a table
 * of the invalid frees that each of these detects.
 * MT-safe, fork-safe, cancel-safe; async-signal-safe on the fast path (<slab/slab.h>).
 */
SLAB_API_SITE void slab_free(struct slab_cache *cache, void *obj) SLAB_NEEDS_CACHE_;

/*
 * slab_alloc: allocate an object of a cache.
 *
 * The object has undefined contents. If the cache has a constructor, the object is in its
 * constructed state. If the cache has SLAB_ZERO, libslab fills the object with zero bytes. When
 * libslab finds no memory or a limit is reached, it takes back unused memory, calls reclaim
 * functions, and at last takes an object of the cache's reserve. gcc warns if an object goes to
 * free().
 * Algorithm: docs/design.md, section 6.
 *
 * Returns the object, or NULL and errno: ENOMEM: there is no memory, a limit is reached, or the
 * constructor failed; EINVAL: the cache was destroyed. A call that succeeds leaves errno unchanged.
 * MT-safe, fork-safe, cancel-safe; async-signal-safe on the fast path (<slab/slab.h>).
 */
SLAB_API_HOT void *slab_alloc(struct slab_cache *cache)
	SLAB_ALLOCATOR_(slab_free, 2) SLAB_NEEDS_CACHE_;

/* slab_zalloc: allocate an object and fill it with zero bytes, also if the cache has a constructor.
 * In all other respects it is slab_alloc().
 * MT-safe, fork-safe, cancel-safe; async-signal-safe on the fast path (<slab/slab.h>). */
SLAB_API_HOT void *slab_zalloc(struct slab_cache *cache)
	SLAB_ALLOCATOR_(slab_free, 2) SLAB_NEEDS_CACHE_;

/*
 * slab_alloc_from: slab_alloc() for a wrapper, whose caller shall be the call site.
 *
 * @caller  a return address of the present stack: in the wrapper, __builtin_return_address(0). Call
 *          sites (debug flag U), reports and leaks name the function that it leads to, and that
 *          function's callers.
 *
 * In all other respects it is slab_alloc().
 * MT-safe, fork-safe, cancel-safe; async-signal-safe on the fast path (<slab/slab.h>).
 */
SLAB_API_HOT void *slab_alloc_from(struct slab_cache *cache, const void *caller)
	SLAB_ALLOCATOR_(slab_free, 2);

/*
 * slab_alloc_node: allocate an object from a slab of a NUMA node.
 *
 * @node  node number; -1: any node. If the node has no memory, the function returns an object of
 *        another node. With `node | SLAB_NODE_STRICT` it fails instead. It then also fails if the
 *        system gave the object's slab pages of another node; to find out costs a system call.
 *
 * Returns the object, or NULL and errno: ENOMEM as for slab_alloc(); EINVAL: there is no such node.
 * A call that succeeds leaves errno unchanged.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
#define SLAB_NODE_STRICT 0x10000
SLAB_API_HOT void *slab_alloc_node(struct slab_cache *cache, int node)
	SLAB_ALLOCATOR_(slab_free, 2);

/* Sources of slab_alloc_bulk(); they can be or-ed. Each includes SLAB_ALLOC_LOCAL. */
#define SLAB_ALLOC_LOCAL 1u /* the running CPU's array */
#define SLAB_ALLOC_PARTIAL 2u /* partial slabs of any shard of the CPU's node */
#define SLAB_ALLOC_NEW 4u /* slabs of the CPU's shard; new ones if none is empty */
#define SLAB_ALLOC_FULL 8u /* all sources that slab_alloc() has: n objects if possible */

/*
 * slab_alloc_bulk: allocate up to n objects into objs[].
 *
 * @mode  SLAB_ALLOC_* flags, at least one. While a cache has debug flags, is sampled at an interval
 *        of up to 1000, or has too few objects in its reserve, the function allocates nothing
 *        unless the mode has SLAB_ALLOC_NEW or SLAB_ALLOC_FULL.
 *
 * Returns the number of objects allocated, which are objs[0 … return value - 1]. It is less than n
 * if the sources have no more. With SLAB_ALLOC_NEW or SLAB_ALLOC_FULL errno is then ENOMEM; with
 * the other modes errno has no meaning. For a mode of 0 or with an unknown flag the function
 * returns 0, and errno is EINVAL. If it allocates n objects, errno is unchanged. The contents of
 * the objects are as those of slab_alloc().
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API size_t slab_alloc_bulk(struct slab_cache *cache, unsigned mode, size_t n, void **objs);

/*
 * slab_free_bulk: free objs[0 … n-1], which are all of this cache. The function skips NULL.
 *
 * It gives the CPU's array as many objects as it has room for in one step, and returns the others
 * of a long call to their slabs. It reports the same misuse as slab_free().
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API void slab_free_bulk(struct slab_cache *cache, size_t n, void *const *objs);

/* slab_cache_name: the name that a cache was created with. It is valid as long as the cache.
 * MT-safe, fork-safe, cancel-safe, async-signal-safe. */
SLAB_API const char *slab_cache_name(const struct slab_cache *cache);

/* slab_cache_size: the object size in bytes that a cache was created with. MT-safe, fork-safe,
 * cancel-safe, async-signal-safe. */
SLAB_API size_t slab_cache_size(const struct slab_cache *cache);

/* slab_engine: the name of the engine, the mechanism by which CPUs commit changes to their arrays:
 * "rseq", "cmpxchg16b" or "mutex". It is the first that works on the machine, unless SLAB_ENGINE
 * names one.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe. */
SLAB_API const char *slab_engine(void);

/* slab_version: the library's version, for example "0.1.0". MT-safe, fork-safe, cancel-safe,
 * async-signal-safe. */
SLAB_API const char *slab_version(void);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_SLAB_H */
