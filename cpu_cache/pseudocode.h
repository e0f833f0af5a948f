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
 * The names in rseq.h differ: rseq_pop_current() is pop, rseq_push_owned() is push; rseq_pop() and
 * rseq_push() are the common case of lifo_pop and lifo_push.
 *
 * pop             section on c: s = current(c); s must exist; height(s) = h > 0;
 *                 obj = stack(s)[h - 1];                        commit height(s) = h - 1
 *                 (cmpxchg16b: owner(s) must be c; current may be stale)
 * push            section on c: owner(s) = c; h = room(s): full; stack(s)[h - 1] = obj: double;
 *                 stack(s)[h] = obj;                            commit height(s) = h + 1
 * lifo_pop        section on c: n = lifo_count(c) > 0; n <= lifo_limit(c), or not closed(c);
 *                 obj = lifo(c)[n - 1];                         commit lifo_count(c) = n - 1
 *                 (rseq only; rseq_pop() requires n <= lifo_limit(c))
 * lifo_push       section on c: not closed(c);                  commit lifo_limit(c) = max,
 *                 unless it is max already; then
 *                 section on c: n = lifo_count(c); n > 0 and lifo(c)[n - 1] = obj: double, else
 *                 n < lifo_limit(c); lifo(c)[n] = obj;          commit lifo_count(c) = n + 1
 *                 (rseq_push(): only the second. Engines with locks have no limit: one section,
 *                 not closed(c), n < max)
 * lifo_take       section on c: not closed(c); k = lifo_count(c) >= n; copy the newest n;
 *                                                               commit lifo_count(c) = k - n
 * lifo_push_bulk  the limit as in lifo_push; then
 *                 section on c: not closed(c); k = lifo_count(c); k > 0 and lifo(c)[k - 1] = obj[0]:
 *                                                               double, else
 *                 k = 0 or k + n <= max; copy n objects behind the newest;
 *                                                               commit lifo_count(c) = k + n
 * pop_bulk        section on c: as pop for the upper k = min(n, h) entries;
 *                                                               commit height(s) = h - k
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
 * fence           returns true when no section that read anything before the call can commit;
 *                 false if the kernel refuses. The caller then takes nothing from the slots.
 *
 * exhausted(s)    height(s) = 0
 *
 * double          A double free: the object is free already. The compared words are loaded
 *                 anyway. An older free of the same object is not detected. An entry of a LIFO
 *                 counts only below lifo_count(c), and an entry of a stack only while c owns the
 *                 slab, so both are read in a section. The word below a LIFO is lifo_limit(c), and
 *                 the entry below a stack is CPU_STACK_BOTTOM: neither is an object.
 *
 * full            All objects of the slab are free, and one more is freed. At least one was
 *                 freed twice, this one or another. So nothing is written behind a stack.
 *
 * Order. A commit is a release. The conditions of a section are loaded with acquire, in the
 * order in which they are listed here. Under a slot's lock, the lock orders them.
 *   owner(s)     Acquire before height(s). It pairs with the release of cpu_slab_set_owner() on
 *                any CPU; after it, the entries of the isolated slab are visible.
 *   closed(c)    Acquire before current, partial, batch, lifo_limit, lifo_count. It pairs with
 *                the release that opens the slot; after it, everything that was taken while
 *                the slot was closed is visible.
 *   height(s)    An estimate if it is read outside of sections while CPUs use the slab. A
 *                thread that isolates the slab has fenced before.
 *   current(c), lifo_limit(c)   The commits that install a slab and set the limit are releases.
 *                The loads of pop, rseq_pop() and rseq_push() need no acquire: they run on CPU c
 *                like these commits, whose sections have acquired closed(c).
 *   batch(c), lifo_count(c)   Other threads access them only after a fence.
 *   handed_off(c)  Threads push with release, and take the whole list by an exchange with
 *                acquire.
 * A fence is a full barrier for the caller and for each CPU that runs a thread of the process.
 *
 * A thread that closes a slot changes it in this order:
 *   1. closed(c) = 1; fence. Sections on the slot no longer commit, except pop, push to slabs that
 *      the CPU still owns, rseq_pop() and rseq_push(). The thread may take everything but the
 *      objects of the LIFO.
 *   2. current(c) = none, lifo_limit(c) = 0; fence. No section uses the LIFO, and pop finds no
 *      slab. The thread may take the objects of the LIFO. If it cleared the owners of slabs before this
 *      fence, these slabs are isolated.
 *   3. closed(c) = 0. The limit stays 0 until lifo_push or lifo_push_bulk on c.
 * If a fence fails, the thread takes nothing more and goes on with step 3. Slabs whose owners it
 * cleared before a fence of step 2 that failed are not isolated.
 *
 * Only lifo_push and lifo_push_bulk raise the limit, and both require that the slot is open. So it
 * stays 0 after the fence of step 1, and rseq_pop() and rseq_push(), which read the limit and not closed,
 * miss after the fence of step 2.
 */
