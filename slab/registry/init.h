/* SPDX-License-Identifier: MIT */
/* The library begins. */
#ifndef SLAB_REGISTRY_INIT_H
#define SLAB_REGISTRY_INIT_H

#include <stdbool.h>

/* Initialize the library once: engine, nodes, root. false, and ENOMEM: this thread is at
 * it, and its initialization allocates. */
bool slab_init(void);

#endif /* SLAB_REGISTRY_INIT_H */
