/* SPDX-License-Identifier: MIT */
/*
 * Operations: what a directory server knows of a request while it works on it.
 *
 * They come from a type-safe cache, with a lock and a number that the constructor makes
 * once. A free operation keeps all that it had: nothing is zeroed under the eyes of a
 * reader. That it is free, or another one by now, shows in its generation, which changes
 * with every life, in one step with the reference count:
 *
 *   rcu_read_lock();
 *   handle = dirsrv_operation_handle_load(&connection->operation[i]);
 *   operation = dirsrv_operation_acquire(handle);
 *   rcu_read_unlock();
 *   if (operation) {                             // this very one, and it stays
 *           dirsrv_operation_abandon(operation);
 *           dirsrv_operation_put(operation);
 *   }
 *
 * As for any type-safe cache (<slab/rcu.h>), the memory behind a handle is an operation as
 * long as the section lasts in which the handle was read from a place that is cleared
 * before the operation is freed. A handle that is kept for longer needs a reference. The
 * owner of such a place writes it by dirsrv_operation_handle_store(), and clears it, with
 * a handle of zeros, before the last put. Readers need no lock: a handle of which one
 * word is old and the other new finds nothing.
 *
 * Threads: every function may be called by any thread that is registered with the pool's
 * flavour of liburcu. Those with `operation` want a reference. Signals: not
 * async-signal-safe, except dirsrv_operation_abandon() and the functions that only read.
 */
#ifndef SLAB_DIRSRV_OPERATION_H
#define SLAB_DIRSRV_OPERATION_H

#include <stdbool.h>

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dirsrv_operation_pool;
struct dirsrv_operation;
struct slapi_pblock;

/* An operation with all that a server keeps with it, in bytes. */
#define DIRSRV_OPERATION_SIZE_MAX ((size_t)480)

/* Bytes that a server may keep with an operation: its room. */
#define DIRSRV_OPERATION_ROOM_MAX ((size_t)336)

/* How far it got. The order is that of its life; states may be left out. */
enum dirsrv_operation_state {
	DIRSRV_OPERATION_RECEIVED,  /* by dirsrv_operation_new() */
	DIRSRV_OPERATION_EXECUTING,
	DIRSRV_OPERATION_ANSWERING, /* results are being sent */
	DIRSRV_OPERATION_DONE,
	DIRSRV_OPERATION_STATES
};

/* One life of an operation. All zero: none. The generation is different for each life of an
 * object, and between objects: among 2^24 of them in their order of construction. */
struct dirsrv_operation_handle {
	struct dirsrv_operation *operation;
	uint64_t generation;
};

/* dirsrv_operation_handle_load, dirsrv_operation_handle_store: read and write a handle that
 * others read meanwhile; one thread at a time writes. */
static inline struct dirsrv_operation_handle dirsrv_operation_handle_load(
	const struct dirsrv_operation_handle *place)
{
	struct dirsrv_operation_handle handle;

	handle.operation = __atomic_load_n(&place->operation, __ATOMIC_ACQUIRE);
	handle.generation = __atomic_load_n(&place->generation, __ATOMIC_RELAXED);
	return handle;
}

static inline void dirsrv_operation_handle_store(struct dirsrv_operation_handle *place,
						 struct dirsrv_operation_handle handle)
{
	__atomic_store_n(&place->generation, handle.generation, __ATOMIC_RELAXED);
	__atomic_store_n(&place->operation, handle.operation, __ATOMIC_RELEASE);
}

/* What the listener knows of a request. */
struct dirsrv_operation_request {
	void *connection;       /* the server's own */
	uint64_t connection_id;
	uint32_t message_id;    /* of LDAP */
	uint32_t tag;           /* of the protocol operation, as LDAP_REQ_SEARCH */
};

/*
 * dirsrv_operation_pool_create: a cache of operations, which slabinfo shows.
 *
 * @name  of the cache.
 * @room  bytes for the server's own use with each, up to DIRSRV_OPERATION_ROOM_MAX.
 * @rcu   the application's flavour of liburcu; NULL: urcu-memb.
 *
 * NULL and errno: EINVAL: a bad name, too much room; EEXIST: there is such a cache; ENOMEM.
 */
SLAB_API struct dirsrv_operation_pool *dirsrv_operation_pool_create(
	const char *name, size_t room, const struct rcu_flavor_struct *rcu);

/* dirsrv_operation_pool_destroy: 0; -EBUSY: operations are in use, which libslab reports,
 * and the pool is as it was; -EDEADLK: within a section. NULL is allowed. */
SLAB_API int dirsrv_operation_pool_destroy(struct dirsrv_operation_pool *pool);

/*
 * dirsrv_operation_new: an operation with one reference, in state RECEIVED, not
 * abandoned, with no pblock. Its room is as its last user left it; zeros the first time.
 * NULL and ENOMEM.
 */
SLAB_API struct dirsrv_operation *dirsrv_operation_new(
	struct dirsrv_operation_pool *pool, const struct dirsrv_operation_request *request);

/* dirsrv_operation_get: one more reference for who has one. dirsrv_operation_put: one less;
 * the last one ends this life, and nothing of it changes but the generation. NULL is
 * allowed. There may be 2^24 - 1 references at a time; nobody looks whether there are more. */
SLAB_API void dirsrv_operation_get(struct dirsrv_operation *operation);
SLAB_API void dirsrv_operation_put(struct dirsrv_operation *operation);

/* dirsrv_operation_handle_of: what this life of it is found by. */
SLAB_API struct dirsrv_operation_handle dirsrv_operation_handle_of(
	const struct dirsrv_operation *operation);

/* dirsrv_operation_acquire: a reference to the operation that the handle is for; NULL when
 * that is over. In a section, as said above. */
SLAB_API struct dirsrv_operation *dirsrv_operation_acquire(struct dirsrv_operation_handle handle);

/* dirsrv_operation_slot: the number that the constructor gave the object: it stays the same
 * in all its lives, and no other operation of the process has it at the same time. */
SLAB_API uint64_t dirsrv_operation_slot(const struct dirsrv_operation *operation);

/* What it was made with. */
SLAB_API void *dirsrv_operation_connection(const struct dirsrv_operation *operation);
SLAB_API uint64_t dirsrv_operation_connection_id(const struct dirsrv_operation *operation);
SLAB_API uint32_t dirsrv_operation_message_id(const struct dirsrv_operation *operation);
SLAB_API uint32_t dirsrv_operation_tag(const struct dirsrv_operation *operation);

/* Its pblock, which belongs to the server and outlives the operation as it likes. */
SLAB_API struct slapi_pblock *dirsrv_operation_pblock(const struct dirsrv_operation *operation);
SLAB_API void dirsrv_operation_set_pblock(struct dirsrv_operation *operation,
					  struct slapi_pblock *pblock);

/* dirsrv_operation_room: its room, aligned to 16 bytes; whoever holds the operation's
 * lock, or is alone with it, may use it. NULL: the pool gives none. */
SLAB_API void *dirsrv_operation_room(struct dirsrv_operation *operation);

/* The operation's own mutex, for its room. It is free when the last reference goes. */
SLAB_API void dirsrv_operation_lock(struct dirsrv_operation *operation);
SLAB_API void dirsrv_operation_unlock(struct dirsrv_operation *operation);

/*
 * dirsrv_operation_advance: to a later state, and note the time. false, and nothing
 * changes: it is there, or further, already.
 * dirsrv_operation_time: when it came into a state: nanoseconds of CLOCK_MONOTONIC; 0: it
 * was never in it.
 */
SLAB_API bool dirsrv_operation_advance(struct dirsrv_operation *operation,
				       enum dirsrv_operation_state state);
SLAB_API enum dirsrv_operation_state dirsrv_operation_state(
	const struct dirsrv_operation *operation);
SLAB_API uint64_t dirsrv_operation_time(const struct dirsrv_operation *operation,
					enum dirsrv_operation_state state);

/* dirsrv_operation_abandon: mark it, for who works on it to see. false: it was marked
 * before, or is done. dirsrv_operation_abandoned: whether it is marked. */
SLAB_API bool dirsrv_operation_abandon(struct dirsrv_operation *operation);
SLAB_API bool dirsrv_operation_abandoned(const struct dirsrv_operation *operation);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_DIRSRV_OPERATION_H */
