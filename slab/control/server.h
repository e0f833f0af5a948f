/* SPDX-License-Identifier: MIT */
/*
 * The control socket as the rest of the library sees it; <slab/control.h> has
 * what applications see.
 */
#ifndef SLAB_CONTROL_SERVER_H
#define SLAB_CONTROL_SERVER_H

struct slab_json;

/*
 * slab_control_start: open the socket and start its thread unless that was done
 * or tried before, which costs one atomic load. Called after every creation of
 * a cache, with no lock held. Never fails; errno is untouched.
 */
void slab_control_start(void);

/*
 * slab_control_after_fork_child: in the child of a fork: leave the parent's
 * socket and clients to the parent. The next slab_control_start() opens the
 * child's own.
 */
void slab_control_after_fork_child(void);

/*
 * slab_control_answer: write the answer to one request line into an empty
 * document.
 */
void slab_control_answer(struct slab_json *reply, const char *request);

#endif /* SLAB_CONTROL_SERVER_H */
