/* SPDX-License-Identifier: MIT */
/* For machines and builds without restartable sequences: every sequence misses. */
#ifndef CPU_CACHE_RSEQ_H
#error "never include arch/generic/rseq.h directly; include rseq.h of cpu_cache"
#endif

#define RSEQ_ARCH 0

static inline bool rseq_pop(char *const *arrays, long rseq_offset, void **ret_obj)
{
	(void)arrays;
	(void)rseq_offset;
	(void)ret_obj;
	return false;
}

static inline bool rseq_push(char *const *arrays, void *obj, long rseq_offset)
{
	(void)arrays;
	(void)obj;
	(void)rseq_offset;
	return false;
}

static inline bool rseq_take(char *const *arrays, size_t n, void **objs, long rseq_offset)
{
	(void)n;
	(void)objs;
	return rseq_push(arrays, NULL, rseq_offset);
}

static inline bool rseq_put(char *const *arrays, size_t n, void *const *objs, long rseq_offset)
{
	(void)n;
	(void)objs;
	return rseq_push(arrays, NULL, rseq_offset);
}

static inline bool rseq_is_newest(char *const *arrays, const void *obj, long rseq_offset)
{
	(void)obj;
	return rseq_push(arrays, NULL, rseq_offset);
}
