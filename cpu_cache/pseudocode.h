/* SPDX-License-Identifier: MIT */
/*
 * What every engine does: the one reference text. No code; each engine function
 * carries the name of the section it implements.
 *
 * "section on c" means: the conditions are read and the commit stored as if
 * no other thread ran on CPU c in between. How: rseq.c by a restartable sequence;
 * mutex.c under the slot's lock; cmpxchg16b.c by a locked compare-and-exchange
 * of {local, tid} where the commit is to a slab, under the slot's lock elsewhere.
 *
 * pop             section on c: s = current(c); s must exist
 *                 last_freed(c) set: obj = last_freed(c);       commit last_freed(c) = 0
 *                 height(s) = h > 0: obj = stack(s)[h - 1];     commit height(s) = h - 1
 *                 (cmpxchg16b: owner(s) must be c; current may be stale)
 * lifo_pop        section on c: current(c) must exist; n = lifo_count(c) > 0;
 *                 obj = lifo(c)[n - 1];                         commit lifo_count(c) = n - 1
 *                 (rseq only, as the next two)
 * pop_held        section on c: not closed(c); obj = last_freed(c);
 *                                                               commit last_freed(c) = 0, else
 *                 section on c: not closed(c); n = lifo_count(c) > 0;
 *                 obj = lifo(c)[n - 1];                         commit lifo_count(c) = n - 1
 * lifo_push       section on c: not closed(c); n = lifo_count(c); last_freed(c) = obj, or
 *                 n > 0 and lifo(c)[n - 1] = obj: double, else owner(s) is not c; n < max;
 *                 lifo(c)[n] = obj;                             commit lifo_count(c) = n + 1
 * push            section on c: last_freed(c) empty;            commit last_freed(c) = obj
 *                 (rseq only), else
 *                 last_freed(c) = obj, read anywhere: double, else
 *                 section on c: owner(s) = c; h = room(s): full; stack(s)[h - 1] = obj: double;
 *                 stack(s)[h] = obj;                            commit height(s) = h + 1
 * pop_bulk        section on c: as pop for k = min(n, h) entries; commit height(s) = h - k
 * push_bulk       section on c: owner(s) = c; h + n > room(s): full; n entries to the stack;
 *                                                               commit height(s) = h + n
 * install         section on c: not closed(c), current(c) = none; commit current(c) = s
 * retire          section on c: not closed(c), current(c) = s, s exhausted
 *                                                               commit current(c) = none
 * disown          section on c: not closed(c), owner(s) = c [, s exhausted]
 *                                                               commit owner(s) = none
 * partial_push    section on c: not closed(c); next(last) = partial(c);
 *                                                               commit partial(c) = first
 * partial_pop     section on c: not closed(c), partial(c) = s;  commit partial(c) = next(s)
 * partial_take    section on c: not closed(c);                  commit partial(c) = none
 * batch_add       section on c: not closed(c); batch(c) is of s, buf(c)[count - 1] = obj:
 *                                                               double, else
 *                 section on c: not closed(c); batch(c) is of s and not full, or empty;
 *                 buf(c)[count] = obj;                          commit batch(c) = s, count + 1
 * batch_take      section on c: not closed(c); copy buf(c);     commit batch(c) = none
 * fence           returns when no section that read anything before the call can commit
 *
 * exhausted(s)    height(s) = 0
 *
 * double          the object is free already: a double free. The compared words are loaded
 *                 anyway; an older free of the same object is not detected. An object that is
 *                 not free is never in a last-freed word, of any CPU, at any time. An entry of
 *                 a stack counts only while c owns the slab, so it is read in a section. Below
 *                 a stack stands CPU_STACK_BOTTOM, which is no object; neither is the 1 in the
 *                 last-freed words of threads without a CPU, nor the count below a LIFO.
 *
 * full            as many objects are free as the slab has, and here is one more: at least one
 *                 was freed twice, this one or another. So nothing is ever written behind a stack.
 *
 * Order. A commit is a release, and the conditions of a section are loaded with acquire, in
 * the order in which they stand here. Under a slot's lock it is the lock that orders.
 *   owner(s)     acquire before height(s): pairs with the release of cpu_slab_set_owner(), on
 *                any CPU, after which the entries put in while it was isolated are seen
 *   closed(c)    acquire before last_freed, current, partial, batch, lifo_count: pairs with the
 *                release that opens the slot, after which all is seen that was taken while it
 *                was closed
 *   height(s)    of a slab that CPUs work on it is a guess outside of sections; a thread that
 *                isolates the slab has fenced before
 *   current(c)   the commit of install is a release, the load of pop and lifo_pop needs no
 *                acquire: all are of CPU c, and install has acquired closed(c)
 *   last_freed(c), batch(c), lifo_count(c)   by other threads only after a fence, last_freed by
 *                an exchange (acquire, release)
 *   handed_off(c)  pushed with release, exchanged for none with acquire
 * A fence is a full barrier for the caller and for each CPU that runs a thread of the
 * process.
 *
 * A thread that closes a slot and then fences has it for itself: no section on it
 * commits any more, except pop and push on slabs that the CPU still owns, and lifo_pop. Taking
 * current and clearing the owner of each slab, then fencing once more, ends
 * those too.
 *
 * pop always reads current before last_freed, and lifo_pop before lifo_count: so they do not
 * take an object that another thread takes. push needs no such check: it only sets an
 * empty last_freed, and another thread that empties it does so by an exchange,
 * after the first fence.
 */
