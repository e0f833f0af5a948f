/* SPDX-License-Identifier: MIT */
/* The library begins. */
#ifndef SLAB_REGISTRY_INIT_H
#define SLAB_REGISTRY_INIT_H

#include <stdbool.h>
#include <stdint.h>

/* Initialize the library once: engine, nodes. false, and ENOMEM: this thread is at
 * it, and its initialization allocates. */
bool slab_init(void);

/* What an inspection reads of the process. */
struct slab_process {
	/* Set once, before the first cache is created; `started` again in the child of a fork. */
	uint64_t started; /* ms of the monotonic clock; 0: libslab is not in use */
	char engine[16];
	uint32_t nodes;
	uint32_t spare;
	uint64_t mark; /* the last one set from outside, 0: none; atomic */
};

extern struct slab_process slab_process;

/* In the child of a fork, which is a process of its own from then on. */
void process_after_fork_child(void);

#endif /* SLAB_REGISTRY_INIT_H */
