/* SPDX-License-Identifier: MIT */
/*
 * Operations: the data of a request in a directory server, while the server works on it.
 *
 * They come from a type-safe cache; its constructor creates a lock and a number once per
 * object. Freeing an operation writes to none of its fields, so nothing is zeroed while a
 * reader reads it. Its generation shows that it is free or was reused: it changes with every
 * life, in one step with the reference count:
 *
 *	rcu_read_lock();
 *	handle = dirsrv_operation_handle_load(&connection->operation[i]);
 *	operation = dirsrv_operation_acquire(handle);
 *	rcu_read_unlock();
 *	if (operation) {                             // this life of it, and it stays
 *		dirsrv_operation_abandon(operation);
 *		dirsrv_operation_put(operation);
 *	}
 *
 * As for any type-safe cache (<slab/rcu.h>), the memory behind a handle is an operation as
 * long as the section lasts in which the handle was read, if the place of the handle is
 * cleared before the operation is freed. To keep a handle for longer, keep a reference. The
 * owner of such a place writes it by dirsrv_operation_handle_store(), and clears it, with
 * a handle of zeros, before the last put. Readers need no lock: a handle with one old and one
 * new word finds nothing.
 *
 * Safety, in the words of <slab/slab.h>: MT-safe for threads that are registered with the
 * pool's flavour of liburcu, and fork-safe. Functions with the argument `operation` need a
 * reference to it. Not async-signal-safe, except dirsrv_operation_abandon() and the functions
 * that only read.
 */
#ifndef SLAB_DIRSRV_OPERATION_H
#define SLAB_DIRSRV_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dirsrv_operation_pool;
struct dirsrv_operation;
struct slapi_pblock;

/* The largest size of an operation with its room, in bytes. */
#define DIRSRV_OPERATION_SIZE_MAX ((size_t)480)

/* The largest room, the bytes of an operation for the server's use. */
#define DIRSRV_OPERATION_ROOM_MAX ((size_t)336)

/* The progress of an operation, in this order; states may be left out. */
enum dirsrv_operation_state {
	DIRSRV_OPERATION_RECEIVED,  /* by dirsrv_operation_new() */
	DIRSRV_OPERATION_EXECUTING,
	DIRSRV_OPERATION_ANSWERING, /* results are being sent */
	DIRSRV_OPERATION_DONE,
	DIRSRV_OPERATION_STATES
};

/* One life of an operation. All zero: none. The generation differs between lives of an
 * object, and between objects: among 2^24 of them in their order of construction. */
struct dirsrv_operation_handle {
	struct dirsrv_operation *operation;
	uint64_t generation;
};

/* dirsrv_operation_handle_load: read a handle that another thread writes meanwhile. */
static inline struct dirsrv_operation_handle dirsrv_operation_handle_load(
	const struct dirsrv_operation_handle *at)
{
	struct dirsrv_operation_handle handle;

	handle.operation = __atomic_load_n(&at->operation, __ATOMIC_ACQUIRE);
	handle.generation = __atomic_load_n(&at->generation, __ATOMIC_RELAXED);
	return handle;
}

/* dirsrv_operation_handle_store: write a handle that other threads read meanwhile; one thread at a
 * time writes. */
static inline void dirsrv_operation_handle_store(struct dirsrv_operation_handle *at,
						 struct dirsrv_operation_handle handle)
{
	__atomic_store_n(&at->generation, handle.generation, __ATOMIC_RELAXED);
	__atomic_store_n(&at->operation, handle.operation, __ATOMIC_RELEASE);
}

/* The listener's data of a request. */
struct dirsrv_operation_request {
	void *connection;       /* the server's own */
	uint64_t connection_id;
	uint32_t message_id;    /* of LDAP */
	uint32_t tag;           /* of the protocol operation, as LDAP_REQ_SEARCH */
};

/*
 * dirsrv_operation_pool_create: create a cache of operations, which slabinfo shows.
 *
 * @name  name of the cache
 * @room  bytes of each operation for the server's use, up to DIRSRV_OPERATION_ROOM_MAX
 * @rcu   the application's flavour of liburcu; NULL: urcu-memb
 *
 * Returns the pool, or NULL and errno: EINVAL: an invalid name, too much room; EEXIST: a cache
 * of this name exists; ENOMEM.
 */
SLAB_API struct dirsrv_operation_pool *dirsrv_operation_pool_create(
	const char *name, size_t room, const struct rcu_flavor_struct *rcu);

/* dirsrv_operation_pool_destroy: destroy a pool. Returns 0; -EBUSY: operations are in use,
 * which libslab reports, and the pool is unchanged; -EDEADLK: within a section. NULL is
 * allowed. */
SLAB_API int dirsrv_operation_pool_destroy(struct dirsrv_operation_pool *pool);

/*
 * dirsrv_operation_new: allocate an operation with one reference, in state RECEIVED, not
 * abandoned, without a pblock. Its room has the contents of its last life; zeros the first
 * time. Returns NULL and ENOMEM if there is no memory.
 */
SLAB_API struct dirsrv_operation *dirsrv_operation_new(
	struct dirsrv_operation_pool *pool, const struct dirsrv_operation_request *request);

/* dirsrv_operation_get: take one more reference; the caller has one. At most 2^24 - 1 references
 * are allowed at a time; libslab does not check this. */
SLAB_API void dirsrv_operation_get(struct dirsrv_operation *operation);

/* dirsrv_operation_put: drop a reference; the last one ends this life, and only the generation
 * changes. NULL is allowed. */
SLAB_API void dirsrv_operation_put(struct dirsrv_operation *operation);

/* dirsrv_operation_handle_of: the handle of this life of an operation. */
SLAB_API struct dirsrv_operation_handle dirsrv_operation_handle_of(
	const struct dirsrv_operation *operation);

/* dirsrv_operation_acquire: take a reference to the operation of a handle; NULL if that life
 * has ended. The caller is in a section (<slab/dirsrv/operation.h>). */
SLAB_API struct dirsrv_operation *dirsrv_operation_acquire(struct dirsrv_operation_handle handle);

/* dirsrv_operation_slot: the number that the constructor gave the object. It is the same
 * in all its lives, and unique in the process at any time. */
SLAB_API uint64_t dirsrv_operation_slot(const struct dirsrv_operation *operation);

/* The data of the request, as passed to dirsrv_operation_new(). */
SLAB_API void *dirsrv_operation_connection(const struct dirsrv_operation *operation);
SLAB_API uint64_t dirsrv_operation_connection_id(const struct dirsrv_operation *operation);
SLAB_API uint32_t dirsrv_operation_message_id(const struct dirsrv_operation *operation);
SLAB_API uint32_t dirsrv_operation_tag(const struct dirsrv_operation *operation);

/* The pblock of the operation. It belongs to the server and may exist longer. */
SLAB_API struct slapi_pblock *dirsrv_operation_pblock(const struct dirsrv_operation *operation);
SLAB_API void dirsrv_operation_set_pblock(struct dirsrv_operation *operation,
					  struct slapi_pblock *pblock);

/* dirsrv_operation_room: the room, aligned to 16 bytes, for the thread that holds the
 * operation's lock or the only reference. NULL: the pool has no room. */
SLAB_API void *dirsrv_operation_room(struct dirsrv_operation *operation);

/* The operation's mutex, for its room. It must be unlocked when the last reference is dropped. */
SLAB_API void dirsrv_operation_lock(struct dirsrv_operation *operation);
SLAB_API void dirsrv_operation_unlock(struct dirsrv_operation *operation);

/* dirsrv_operation_advance: change to a later state and record the time. Returns false, and
 * changes nothing, if the operation is in that state or a later one. */
SLAB_API bool dirsrv_operation_advance(struct dirsrv_operation *operation,
				       enum dirsrv_operation_state state);

/* dirsrv_operation_state: the present state. */
SLAB_API enum dirsrv_operation_state dirsrv_operation_state(
	const struct dirsrv_operation *operation);

/* dirsrv_operation_time: when it reached a state: nanoseconds of CLOCK_MONOTONIC; 0: it
 * never did. */
SLAB_API uint64_t dirsrv_operation_time(const struct dirsrv_operation *operation,
					enum dirsrv_operation_state state);

/* dirsrv_operation_abandon: mark the operation as abandoned, for the thread that works on it.
 * Returns false if it was marked before, or is done. */
SLAB_API bool dirsrv_operation_abandon(struct dirsrv_operation *operation);

/* dirsrv_operation_abandoned: whether it is marked. */
SLAB_API bool dirsrv_operation_abandoned(const struct dirsrv_operation *operation);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_DIRSRV_OPERATION_H */
