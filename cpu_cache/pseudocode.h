/* SPDX-License-Identifier: MIT */
/*
 * The specification of the sections, which every engine implements. This file has no code; each
 * engine function has the name of its section.
 *
 * "section on c" means: the thread reads the conditions and stores the commit as if no other
 * thread ran on CPU c in between. rseq.c does it by a restartable sequence, mutex.c under the
 * slot's lock. cmpxchg16b.c uses a locked compare-and-exchange of {local, tid} to commit to a
 * slab, and the slot's lock to commit to a slot.
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
 * lifo_add        section on c: not closed(c); n = lifo_count(c);
 *                 n > 0 and lifo(c)[n - 1] = obj: double, else n < max;
 *                 lifo(c)[n] = obj;                             commit lifo_count(c) = n + 1
 * lifo_take       section on c: not closed(c); k = lifo_count(c) >= n; copy the newest n;
 *                                                               commit lifo_count(c) = k - n
 * lifo_fill       section on c: not closed(c); lifo_count(c) = 0; copy n objects to lifo(c);
 *                                                               commit lifo_count(c) = n
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
 *                 (cmpxchg16b: disown alone checks whether s is exhausted)
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
 * double          A double free: the object is free already. The compared words are loaded
 *                 anyway. An older free of the same object is not detected. An allocated object
 *                 is never in the last-freed word of any CPU. An entry of a stack counts only
 *                 while c owns the slab, so it is read in a section. The entry below a stack is
 *                 CPU_STACK_BOTTOM, which is no object. Neither is the 1 in the last-freed
 *                 words of threads without a CPU, nor the count below a LIFO.
 *
 * full            All objects of the slab are free, and one more is freed. At least one was
 *                 freed twice, this one or another. So nothing is written behind a stack.
 *
 * Order. A commit is a release. The conditions of a section are loaded with acquire, in the
 * order in which they are listed here. Under a slot's lock, the lock orders them.
 *   owner(s)     Acquire before height(s). It pairs with the release of cpu_slab_set_owner() on
 *                any CPU; after it, the entries of the isolated slab are visible.
 *   closed(c)    Acquire before last_freed, current, partial, batch, lifo_count. It pairs with
 *                the release that opens the slot; after it, everything that was taken while
 *                the slot was closed is visible.
 *   height(s)    An estimate if it is read outside of sections while CPUs use the slab. A
 *                thread that isolates the slab has fenced before.
 *   current(c)   The commit of install is a release. The loads of pop and lifo_pop need no
 *                acquire: all run on CPU c, and install has acquired closed(c).
 *   last_freed(c), batch(c), lifo_count(c)   Other threads access them only after a fence, and
 *                last_freed by an exchange (acquire, release).
 *   handed_off(c)  Threads push with release, and take the whole list by an exchange with
 *                acquire.
 * A fence is a full barrier for the caller and for each CPU that runs a thread of the process.
 *
 * A thread that closes a slot and then fences may change the slot: sections on it no longer
 * commit, except pop, lifo_pop, and push to slabs that the CPU still owns or to an empty
 * last_freed. The thread ends pop, lifo_pop and the push to slabs, too, by taking current,
 * clearing the owner of each slab, and fencing once more.
 *
 * pop always reads current before last_freed, and lifo_pop reads it before lifo_count. So they
 * take no object that the thread with the closed slot takes. push needs no such check: it only
 * sets an empty last_freed, which the other thread empties by an exchange.
 */
