/* SPDX-License-Identifier: MIT */
/* Initialization of the library, and the data about the process that tools read. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Initialize the library once: engine, nodes, limit. false and ENOMEM: this thread is
 * initializing it already, and its initialization allocates. */
bool slab_init(void);

/* Data about the process that tools read. */
struct slab_process {
	/* Set once, before the first cache is created. The child of a fork sets `started`
	 * again. */
	uint64_t started; /* ms of the monotonic clock; 0: libslab is not in use */
	char engine[16];
	uint32_t nodes;
	uint32_t
		rseq_lack; /* enum cpu_rseq_lack: why the engine is not rseq; 0: it was not tried */
	uint64_t mark; /* the last mark that a client has set; 0: none; atomic */
};

extern struct slab_process slab_process;

/* In the child of a fork: set the start time of the new process. */
void process_after_fork_child(void);

/* process_known: this process handles forks from now on. process_is_vforked: is the caller a child
 * of vfork()? Such a child has its parent's memory, but descriptors and threads of its own. */
void process_known(void);
bool process_is_vforked(void);
