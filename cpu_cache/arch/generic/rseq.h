/* SPDX-License-Identifier: MIT */
/* For machines and builds without restartable sequences: every sequence misses. */
#ifndef CPU_CACHE_RSEQ_H
#error "never include arch/generic/rseq.h directly; include rseq.h of cpu_cache"
#endif

#define RSEQ_ARCH 0

static inline bool rseq_pop(char *const *slots, long rseq, void **ret_obj)
{
	(void)slots;
	(void)rseq;
	(void)ret_obj;
	return false;
}

static inline bool rseq_push(char *const *slots, struct cpu_slab *slab, void *obj, long rseq)
{
	(void)slots;
	(void)slab;
	(void)obj;
	(void)rseq;
	return false;
}

static inline bool rseq_lifo_pop(char *const *slots, char *const *lifos, long rseq, void **ret_obj)
{
	(void)lifos;
	return rseq_pop(slots, rseq, ret_obj);
}

static inline bool rseq_lifo_push(char *const *slots, char *const *lifos, struct cpu_slab *slab,
				  void *obj, const uint64_t *max, long rseq)
{
	(void)lifos;
	(void)max;
	return rseq_push(slots, slab, obj, rseq);
}

static inline bool rseq_lifo_add(char *const *slots, char *const *lifos, void *obj,
				 const uint64_t *max, long rseq)
{
	(void)lifos;
	(void)max;
	return rseq_push(slots, NULL, obj, rseq);
}

static inline bool rseq_batch_add(char *const *slots, struct cpu_slab *slab, void *obj, long rseq)
{
	return rseq_push(slots, slab, obj, rseq);
}

static inline enum cpu_result rseq_commit(const struct rseq_op *op, long rseq)
{
	(void)op;
	(void)rseq;
	return CPU_MOVED;
}
