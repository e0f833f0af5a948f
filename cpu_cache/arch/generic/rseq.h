/* SPDX-License-Identifier: MIT */
/* For machines and builds without restartable sequences: every sequence misses. */
#ifndef CPU_CACHE_RSEQ_H
#error "never include arch/generic/rseq.h directly; include rseq.h of cpu_cache"
#endif

#define RSEQ_ARCH 0

static inline bool rseq_pop(char *const *lifos, long rseq, void **ret_obj)
{
	(void)lifos;
	(void)rseq;
	(void)ret_obj;
	return false;
}

static inline bool rseq_push(char *const *lifos, void *obj, long rseq)
{
	(void)lifos;
	(void)obj;
	(void)rseq;
	return false;
}

static inline bool rseq_pop_current(char *const *slots, long rseq, void **ret_obj)
{
	return rseq_pop(slots, rseq, ret_obj);
}

static inline bool rseq_push_owned(struct cpu_slab *slab, void *obj, long rseq)
{
	(void)slab;
	return rseq_push(NULL, obj, rseq);
}

static inline bool rseq_batch_add(char *const *slots, struct cpu_slab *slab, void *obj, long rseq)
{
	(void)slab;
	return rseq_push(slots, obj, rseq);
}

static inline enum cpu_result rseq_commit(const struct rseq_op *op, long rseq)
{
	(void)op;
	(void)rseq;
	return CPU_MOVED;
}
