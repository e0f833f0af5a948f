/* SPDX-License-Identifier: MIT */
/*
 * Operations of a directory server. Their objects are reused, and a handle detects the reuse.
 *
 * `life` is generation << REFERENCE_BITS | references. When the last reference goes, the
 * generation is incremented, so no handle has the generation of a free object. A thread compares
 * the generation and adds a reference in one exchange; if that succeeds, it has the operation that
 * the handle was made for.
 *
 * A handle's generation also contains the object's slot number. A thread that reads the two words
 * of a handle while another thread writes them may get the words of two different operations. All
 * objects begin with the same generation, so only the slot number detects such a pair.
 */
#include <slab/dirsrv/operation.h>

#include <errno.h>
#include <pthread.h>
#include <slab/malloc.h>
#include <slab/rcu.h>
#include <string.h>
#include <time.h>

#include <urcu/urcu-memb.h>

#define REFERENCE_BITS 24
#define REFERENCES(life) ((life) & ((UINT64_C(1) << REFERENCE_BITS) - 1))
#define GENERATION(life) ((life) >> REFERENCE_BITS)
#define GENERATION_BITS (64 - REFERENCE_BITS)

/* A bit of `progress`, besides the state. */
#define ABANDONED (UINT32_C(1) << 31)

struct dirsrv_operation_pool {
	struct slab_cache *cache;
	size_t room;
};

/* All members except the first three and the room are accessed atomically. */
struct dirsrv_operation {
	uint64_t slot;
	struct dirsrv_operation_pool *pool;
	pthread_mutex_t lock; /* protects the room */
	uint64_t life;
	void *connection;
	uint64_t connection_id;
	uint32_t message_id;
	uint32_t tag;
	struct slapi_pblock *pblock;
	uint32_t progress; /* the state, with ABANDONED or not */
	uint64_t time[DIRSRV_OPERATION_STATES];
	_Alignas(16) char room[];
};

_Static_assert(sizeof(struct dirsrv_operation) + DIRSRV_OPERATION_ROOM_MAX ==
		       DIRSRV_OPERATION_SIZE_MAX,
	       "the room is what is left");

#define LOAD(member) __atomic_load_n(&(member), __ATOMIC_RELAXED)
#define STORE(member, value) __atomic_store_n(&(member), value, __ATOMIC_RELAXED)

/* --- pools ------------------------------------------------------------------------- */

static int construct(void *object, void *arg)
{
	static uint64_t slots;
	struct dirsrv_operation *operation = object;
	struct dirsrv_operation_pool *pool = arg;

	memset(operation, 0, sizeof(*operation) + pool->room);
	operation->slot = __atomic_add_fetch(&slots, 1, __ATOMIC_RELAXED);
	operation->pool = pool;
	operation->life = UINT64_C(1) << REFERENCE_BITS; /* a handle of zeros is invalid */
	return pthread_mutex_init(&operation->lock, NULL);
}

static void destruct(void *object, void *arg)
{
	struct dirsrv_operation *operation = object;

	(void)arg;
	pthread_mutex_destroy(&operation->lock);
}

struct dirsrv_operation_pool *dirsrv_operation_pool_create(const char *name, size_t room,
							   const struct rcu_flavor_struct *rcu)
{
	struct slab_cache_args args = {
		.align = 16,
		.ctor = construct,
		.dtor = destruct,
		.rcu = rcu ? rcu : &urcu_memb_flavor,
	};
	struct dirsrv_operation_pool *pool;

	if (room > DIRSRV_OPERATION_ROOM_MAX) {
		errno = EINVAL;
		return NULL;
	}
	pool = slab_malloc(sizeof(*pool));
	if (!pool)
		return NULL;
	args.arg = pool;
	pool->room = room;
	pool->cache = slab_cache_create(name, sizeof(struct dirsrv_operation) + room, &args,
					SLAB_TYPESAFE_BY_RCU);
	if (pool->cache)
		return pool;
	slab_mfree(pool);
	return NULL;
}

int dirsrv_operation_pool_destroy(struct dirsrv_operation_pool *pool)
{
	int error = pool ? slab_cache_destroy(pool->cache) : 0;

	if (!error)
		slab_mfree(pool);
	return error;
}

/* --- lives --------------------------------------------------------------------------- */

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

struct dirsrv_operation *dirsrv_operation_new(struct dirsrv_operation_pool *pool,
					      const struct dirsrv_operation_request *request)
{
	struct dirsrv_operation *operation = slab_alloc(pool->cache);

	if (!operation)
		return NULL;
	STORE(operation->connection, request->connection);
	STORE(operation->connection_id, request->connection_id);
	STORE(operation->message_id, request->message_id);
	STORE(operation->tag, request->tag);
	STORE(operation->pblock, NULL);
	STORE(operation->progress, DIRSRV_OPERATION_RECEIVED);
	STORE(operation->time[DIRSRV_OPERATION_RECEIVED], now());
	for (unsigned i = DIRSRV_OPERATION_RECEIVED + 1; i < DIRSRV_OPERATION_STATES; i++)
		STORE(operation->time[i], 0);
	/* Release: a thread that acquires the operation sees these values. */
	__atomic_fetch_add(&operation->life, 1, __ATOMIC_RELEASE);
	return operation;
}

void dirsrv_operation_get(struct dirsrv_operation *operation)
{
	__atomic_fetch_add(&operation->life, 1, __ATOMIC_RELAXED);
}

/* `life` with one reference less; without references, the next generation. */
static uint64_t one_less(uint64_t life)
{
	if (REFERENCES(life) > 1)
		return life - 1;
	return (GENERATION(life) + 1) << REFERENCE_BITS;
}

void dirsrv_operation_put(struct dirsrv_operation *operation)
{
	uint64_t life;

	if (!operation)
		return;
	life = LOAD(operation->life);
	while (!__atomic_compare_exchange_n(&operation->life, &life, one_less(life), true,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
	if (REFERENCES(life) == 1)
		slab_free(operation->pool->cache, operation);
}

/* The generation that a handle to this life contains: with the slot number. */
static uint64_t mark_of(const struct dirsrv_operation *operation, uint64_t life)
{
	return operation->slot << GENERATION_BITS | GENERATION(life);
}

struct dirsrv_operation_handle dirsrv_operation_handle_of(const struct dirsrv_operation *operation)
{
	struct dirsrv_operation_handle handle = {
		.operation = (struct dirsrv_operation *)operation,
		.generation = mark_of(operation, LOAD(operation->life)),
	};

	return handle;
}

struct dirsrv_operation *dirsrv_operation_acquire(struct dirsrv_operation_handle handle)
{
	struct dirsrv_operation *operation = handle.operation;
	uint64_t life;

	if (!operation)
		return NULL;
	life = LOAD(operation->life);
	while (mark_of(operation, life) == handle.generation && REFERENCES(life))
		if (__atomic_compare_exchange_n(&operation->life, &life, life + 1, true,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return operation;
	return NULL;
}

/* --- contents ------------------------------------------------------------------------ */

uint64_t dirsrv_operation_slot(const struct dirsrv_operation *operation)
{
	return operation->slot;
}

void *dirsrv_operation_connection(const struct dirsrv_operation *operation)
{
	return LOAD(operation->connection);
}

uint64_t dirsrv_operation_connection_id(const struct dirsrv_operation *operation)
{
	return LOAD(operation->connection_id);
}

uint32_t dirsrv_operation_message_id(const struct dirsrv_operation *operation)
{
	return LOAD(operation->message_id);
}

uint32_t dirsrv_operation_tag(const struct dirsrv_operation *operation)
{
	return LOAD(operation->tag);
}

struct slapi_pblock *dirsrv_operation_pblock(const struct dirsrv_operation *operation)
{
	return __atomic_load_n(&operation->pblock, __ATOMIC_ACQUIRE);
}

void dirsrv_operation_set_pblock(struct dirsrv_operation *operation, struct slapi_pblock *pblock)
{
	__atomic_store_n(&operation->pblock, pblock, __ATOMIC_RELEASE);
}

void *dirsrv_operation_room(struct dirsrv_operation *operation)
{
	return operation->pool->room ? operation->room : NULL;
}

void dirsrv_operation_lock(struct dirsrv_operation *operation)
{
	pthread_mutex_lock(&operation->lock);
}

void dirsrv_operation_unlock(struct dirsrv_operation *operation)
{
	pthread_mutex_unlock(&operation->lock);
}

/* --- progress ---------------------------------------------------------------------------- */

bool dirsrv_operation_advance(struct dirsrv_operation *operation, enum dirsrv_operation_state state)
{
	uint32_t progress = LOAD(operation->progress);

	do {
		if (state >= DIRSRV_OPERATION_STATES || (progress & ~ABANDONED) >= state)
			return false;
	} while (!__atomic_compare_exchange_n(&operation->progress, &progress,
					      (progress & ABANDONED) | state, true,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	STORE(operation->time[state], now());
	return true;
}

enum dirsrv_operation_state dirsrv_operation_state(const struct dirsrv_operation *operation)
{
	uint32_t progress = __atomic_load_n(&operation->progress, __ATOMIC_ACQUIRE);

	return (enum dirsrv_operation_state)(progress & ~ABANDONED);
}

uint64_t dirsrv_operation_time(const struct dirsrv_operation *operation,
			       enum dirsrv_operation_state state)
{
	return state < DIRSRV_OPERATION_STATES ? LOAD(operation->time[state]) : 0;
}

bool dirsrv_operation_abandon(struct dirsrv_operation *operation)
{
	uint32_t progress = LOAD(operation->progress);

	do {
		if (progress & ABANDONED || progress == DIRSRV_OPERATION_DONE)
			return false;
	} while (!__atomic_compare_exchange_n(&operation->progress, &progress, progress | ABANDONED,
					      true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	return true;
}

bool dirsrv_operation_abandoned(const struct dirsrv_operation *operation)
{
	return __atomic_load_n(&operation->progress, __ATOMIC_ACQUIRE) & ABANDONED;
}
