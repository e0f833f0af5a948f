# SPDX-License-Identifier: MIT
"""The model: exchanges and locks of an operation, for four designs and their loads.

docs/scale.md has the formulas in words, and what they leave out. Sizes are bytes. An operation is
an allocation or a free.
"""

from dataclasses import dataclass
import math
import random

from model import (
    ALIEN, BARN, BATCH_MAX, MAGAZINES, array_length, batch_of_slab, lifo_length, listed_after,
    min_partial, partial_most, sheaf_length, sheaf_slab_bytes, slab_bytes, tcache_length)

MUTEX = 2        # exchanges of a mutex of the C library: lock and unlock
TRANSFER = 3     # of a magazine: a mutex, and a count
MAGAZINES_OF_BURST = 3  # that a burst fills, and as many that it empties: measured, 2 to 4
SPINLOCK = 1     # of a lock of the kernel: to take it
SLAB_TAKEN = 10  # of a fresh slab and its release: pages_lock twice, accounts, counts

# LIFOs become longer after 256 misses of a CPU within 20 ms: at a million operations a second, this
# part of them.
MISSES_TO_GROW = 256 / 20_000


@dataclass(frozen=True)
class Cost:
    """For each operation: exchanges, acquisitions of the node's lock, and of the page layer's."""

    exchanges: float
    node: float = 0
    pages: float = 0


@dataclass(frozen=True)
class Load:
    """A load: `batch` operations on one CPU in a row, `live` objects of each CPU stay."""

    size: int
    batch: int = 64
    live: int = 1000


def simulate_lifos(load, cpus, length, operations=50_000):
    """Batches of frees and allocations, each batch on a random CPU: the transfers of magazines of
    one node for each operation, and the frees that find LIFO and magazines full. Only the level of
    each LIFO counts. A free that finds no room goes to a slab, which then serves an allocation."""
    rng = random.Random(1)
    level, slabs = [length // 2] * cpus, [0] * cpus
    half, full, transfers, missed = max(1, length // 2), 0, 0, 0
    for _ in range(operations // (2 * load.batch)):
        cpu = rng.randrange(cpus)
        for _ in range(load.batch):
            if level[cpu] < length:
                level[cpu] += 1
            elif rng.random() * cpus < 1:  # this CPU owns the slab
                slabs[cpu] += 1
            elif full < MAGAZINES:
                full, transfers, level[cpu] = full + 1, transfers + 1, level[cpu] - half + 1
            else:
                slabs[rng.randrange(cpus)] += 1
                missed += 1
        cpu = rng.randrange(cpus)
        for _ in range(load.batch):
            if level[cpu] == 0 and slabs[cpu]:
                level[cpu] = min(slabs[cpu], BATCH_MAX)
                slabs[cpu] -= level[cpu]
            elif level[cpu] == 0 and full:
                full, transfers, level[cpu] = full - 1, transfers + 1, half
            elif level[cpu] == 0:
                level[cpu] = BATCH_MAX
            level[cpu] -= 1
    return transfers / operations, missed / operations


def libslab_pairs(load, same_node):
    """One CPU allocates, another one frees."""
    half = lifo_length(load.size) // 2
    if same_node:
        return Cost(TRANSFER / half, 1 / half)
    delivered = 1 / min(BATCH_MAX, load.batch)
    return Cost((delivered + delivered / 2) / 2)


def libslab_elsewhere(load, machine):
    """Random CPUs free what random CPUs allocated. Objects of other nodes are delivered one by one,
    unless the next one is of the same slab, or of a slab that this CPU owns."""
    remote = (machine.nodes - 1) / machine.nodes
    node_cpus = machine.cpus // machine.nodes
    slabs = max(1, load.live * machine.cpus * load.size * remote / slab_bytes(load.size))
    delivered = remote / 2 * (1 - 1 / machine.cpus) * (1 - 1 / slabs if slabs > 1 else 0)
    if machine.nodes > 1:
        return Cost(delivered)
    length = lifo_length(load.size)
    transfers, missed = simulate_lifos(load, node_cpus, length)
    while missed > MISSES_TO_GROW and length < lifo_length(load.size, grown=True):
        length = min(2 * length, lifo_length(load.size, grown=True))
        transfers, missed = simulate_lifos(load, node_cpus, length)
    return Cost(TRANSFER * transfers + missed, transfers)


def libslab_burst(load, machine):
    """A CPU allocates `batch` objects and frees them."""
    length, operations = lifo_length(load.size), 2 * load.batch
    half = max(1, length // 2)
    slabs = load.batch * load.size / slab_bytes(load.size)
    most = partial_most(load.size, machine.cpus)
    transfers = min(2 * MAGAZINES_OF_BURST, 2 * (max(0, load.batch - length) // half))
    fresh = 0
    if slabs > most:
        fresh = max(0, slabs - listed_after(int(slabs), most) - 1 - min_partial(load.size))
    claims = 2 * slabs if slabs > most else 0
    exchanges = TRANSFER * transfers + claims + SLAB_TAKEN * fresh
    return Cost(exchanges / operations, transfers / operations, 2 * fresh / operations)


def libslab_cost(name, load, machine):
    """The cost of an operation of a load: local, pairs, pairs-remote, elsewhere, burst."""
    if name == "local":
        return Cost(0)
    if name in ("pairs", "pairs-remote"):
        return libslab_pairs(load, name == "pairs")
    return libslab_elsewhere(load, machine) if name == "elsewhere" else libslab_burst(load, machine)


def walk_cost(load, length, moved):
    """Locks of an operation if a queue of `length` moves `moved` objects at its ends, and its level
    is a random walk with steps of `batch`. At least what steps beyond an end need; at most a move
    for each walk from the middle to an end. Between the two, the geometric mean."""
    if load.batch >= length:
        return (1 - length / 2 / load.batch) / moved
    return math.sqrt(load.batch / (2 * length) / moved * 4 * load.batch / length**2)


def slab_cost(name, load, machine):
    """The same for SLAB."""
    length, batch = array_length(load.size), batch_of_slab(load.size)
    remote = (machine.nodes - 1) / machine.nodes
    alien = (1 + 1 / ALIEN) * SPINLOCK
    if name == "local":
        return Cost(0)
    if name == "pairs":
        return Cost(SPINLOCK / batch, 1 / batch)
    if name == "pairs-remote":
        return Cost((alien + SPINLOCK / batch) / 2, (1 / ALIEN + 1 / batch) / 2)
    if name == "burst":
        locks = max(0, 1 - length / load.batch) / batch
        return Cost(locks, locks)
    locks = walk_cost(load, length, batch)
    return Cost(remote * alien / 2 + locks, remote / ALIEN / 2 + locks)


def sheaves_cost(name, load, machine, exchanges=SPINLOCK):
    """The same for sheaves: frees of objects of another node go to their slab, one by one.
    `exchanges` are those of an exchange of sheaves with the barn."""
    length = sheaf_length(load.size)
    objects = sheaf_slab_bytes(load.size) // load.size
    remote = (machine.nodes - 1) / machine.nodes
    refill = 2 / objects
    if name == "local":
        return Cost(0)
    if name == "pairs":
        return Cost(exchanges / length, 1 / length)
    if name == "pairs-remote":
        return Cost((1 + refill + exchanges / length) / 2, (1 / objects + 1 / length) / 2)
    if name == "burst":
        moved = max(0, load.batch / length - 1)
        past = max(0, load.batch - (2 + BARN) * length)
        to_slabs = 2 * past / objects + 2 * past / length
        return Cost((exchanges * moved + to_slabs) / load.batch, moved / load.batch)
    locks = walk_cost(load, 2 * length, length)
    return Cost(remote * (1 + refill) / 2 + exchanges * locks, remote / objects / 2 + locks)


def jemalloc_cost(name, load, machine):
    """The same for jemalloc: a thread fills half of its array, and flushes half of it, under the
    lock of the objects' arena."""
    length = tcache_length(load.size)
    half = length / 2
    if name == "local":
        return Cost(0)
    if name == "burst":
        locks = max(0, 1 - length / load.batch) / half
    elif name in ("pairs", "pairs-remote"):
        locks = 1 / half
    else:
        threads = machine.cpus * machine.threads
        locks = walk_cost(load, length, half) * min(half, threads)
    return Cost(MUTEX * locks, locks)


def mimalloc_cost(name, load, machine):
    """The same for mimalloc: each free on another thread is an exchange on the page."""
    if name in ("local", "burst"):
        return Cost(0)
    threads = machine.cpus * machine.threads
    return Cost(0.5 if name.startswith("pairs") else 0.5 * (1 - 1 / threads))


COSTS = {
    "libslab": libslab_cost,
    "SLAB": slab_cost,
    "sheaves": sheaves_cost,
    "jemalloc": jemalloc_cost,
    "mimalloc": mimalloc_cost,
}
