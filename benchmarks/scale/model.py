# SPDX-License-Identifier: MIT
"""The model: memory that four designs hold on machines that are not at hand.

docs/scale.md has the formulas in words, and what they leave out. Sizes are bytes.
"""

from dataclasses import dataclass
import math

KIB, MIB = 1 << 10, 1 << 20
POINTER = 8
PAGE = 4 * KIB


@dataclass(frozen=True)
class Machine:
    """A machine. `threads` are those of the program, for each CPU."""

    cpus: int
    nodes: int
    threads: int = 1


@dataclass(frozen=True)
class Use:
    """Who uses the caches: `caches` of them, each on `cpus` CPUs spread over all nodes.

    `peak` is the number of objects that each of these CPUs allocated and then freed.
    """

    size: int
    caches: int
    cpus: int
    peak: int

    def nodes(self, machine):
        """The number of nodes that use a cache."""
        return min(machine.nodes, self.cpus)


@dataclass(frozen=True)
class Trapped:
    """Bytes of one design: free memory of which only one CPU, thread or node can make use, and what
    its queues themselves take."""

    cpu: float
    node: float
    metadata: float

    def total(self):
        """All of it."""
        return self.cpu + self.node + self.metadata


def clamp(value, least, most):
    """The value, or the bound that it is beyond."""
    return min(max(value, least), most)


# --- libslab ----------------------------------------------------------------------------------

LIFO_MAX = 502
LIFO_START, LIFO_GROWN = 32 * KIB, 512 * KIB
LIFO_LEAST = 16  # objects, if these have twice LIFO_START at most
PARTIAL_CPUS = 16  # with more CPUs, each lists fewer slabs
MAGAZINES = 4
SLOT_BYTES = 320
LIFO_BYTES = 16 + LIFO_MAX * POINTER
BATCH_MAX = 64
ROW_BYTES = 128 * KIB
ROW_CACHES = ROW_BYTES // (SLOT_BYTES + LIFO_BYTES)


def lifo_length(size, grown=False):
    """Objects of a LIFO at most."""
    if grown:
        return min(LIFO_MAX, LIFO_GROWN // size)
    return clamp(LIFO_START // size, min(LIFO_LEAST, 2 * LIFO_START // size), LIFO_MAX)


def slab_bytes(size, small=False):
    """The slabs of a cache of libslab; small ones are its first."""
    least, most, objects, waste = (16, 512, 8, 8) if small else (64, 512, 12, 16)
    order = least * KIB
    while order < most * KIB and (order // size < objects or (order % size) * waste > order):
        order *= 2
    return order


def partial_most(size, cpus):
    """Slabs that a CPU partial list of a machine holds before libslab searches it for empty ones."""
    return clamp(MIB // slab_bytes(size) // max(1, cpus // PARTIAL_CPUS), 2, 16)


def min_partial(size):
    """Empty slabs that a node keeps."""
    return clamp(int(math.log2(size)) // 2, 5, 10)


def listed_after(freed, most):
    """The length of a CPU partial list after `freed` slabs came onto it, all of them empty in the
    end. A slab more than `most` starts a search, which leaves the slab that came last and the first
    one: objects of that are in the LIFO. The next search comes beyond twice as many, or `most`."""
    return freed if freed <= most else 2 + (freed - most - 1) % (max(most, 4) - 1)


def owned_after_peak(machine, use):
    """Bytes of slabs that a CPU owns after its peak."""
    slab = slab_bytes(use.size)
    if use.peak * use.size * use.cpus <= 4 * slab:
        slab = slab_bytes(use.size, small=True)
    slabs = math.ceil(use.peak / (slab // use.size))
    most = partial_most(use.size, machine.cpus)
    return slab * (listed_after(slabs - 1, most) + 1)  # the current one is not on the list


def held_by_libslab(machine, use):
    """Objects in LIFOs and magazines after a peak."""
    length = lifo_length(use.size)
    left = max(0, use.peak - length) * use.cpus // use.nodes(machine)
    magazines = min(MAGAZINES, left // max(1, length // 2))
    return use.cpus * min(length, use.peak) + use.nodes(machine) * magazines * (length // 2)


def row_pages(caches, size, peak):
    """Pages that a CPU touches in its row of one area."""
    first = ROW_BYTES - ROW_CACHES * LIFO_BYTES
    touched = 16 + POINTER * min(lifo_length(size), peak)
    pages = set()
    for cache in range(caches):
        slot, lifo = cache * SLOT_BYTES, first + cache * LIFO_BYTES
        pages.update(range(slot // PAGE, (slot + SLOT_BYTES - 1) // PAGE + 1))
        pages.update(range(lifo // PAGE, (lifo + touched - 1) // PAGE + 1))
    return len(pages)


def slots_of_libslab(use):
    """Memory of slots and LIFOs: whole pages of each CPU's row, and an area for 30 caches each."""
    full, rest = divmod(use.caches, ROW_CACHES)
    pages = full * row_pages(ROW_CACHES, use.size, use.peak) + row_pages(rest, use.size, use.peak)
    return use.cpus * pages * PAGE


def trapped_libslab(machine, use):
    """After a peak, before a decay pass, and if no CPU needed a fresh slab since."""
    node = 0
    if math.ceil(use.peak * use.size / slab_bytes(use.size)) > partial_most(use.size, machine.cpus):
        node = use.nodes(machine) * min_partial(use.size) * slab_bytes(use.size)
    return Trapped(
        use.caches * use.cpus * owned_after_peak(machine, use),
        use.caches * node,
        slots_of_libslab(use),
    )


def trapped_libslab_idle(_machine, use):
    """After decay: the memory of slots and LIFOs stays."""
    return Trapped(0, 0, slots_of_libslab(use))


# --- SLAB -------------------------------------------------------------------------------------

ALIEN = 12
ARRAY_HEAD = 16


def array_length(size):
    """Objects in the array of a CPU (the kernel's tunable `limit`)."""
    if size > PAGE:
        return 8
    if size > KIB:
        return 24
    return 54 if size > 256 else 120


def batch_of_slab(size):
    """Objects that move between a CPU and its node at once."""
    return (array_length(size) + 1) // 2


def slab_objects_of_slab(size):
    """Objects in a slab of SLAB, about."""
    return max(1, PAGE // size if size <= 512 else 4 * PAGE // size)


def array_level(size, peak):
    """Objects in the array of a CPU after a peak. It gives a batch away when it is full, so its level
    is anywhere in its upper half: the mean."""
    return min(array_length(size) - batch_of_slab(size) / 2, peak)


def held_by_slab(machine, use):
    """Objects in queues after a peak."""
    on_cpus = use.cpus * array_level(use.size, use.peak)
    shared = 8 * batch_of_slab(use.size) * use.nodes(machine)
    return on_cpus + min(shared, use.cpus * use.peak - on_cpus)


def trapped_slab(machine, use):
    """Arrays of CPUs, shared and alien arrays, and the free objects that a node keeps in slabs.
    Arrays exist for all possible CPUs and all pairs of nodes, used or not."""
    length, batch = array_length(use.size), batch_of_slab(use.size)
    nodes = use.nodes(machine)
    shared = 8 * batch
    aliens = nodes * (machine.nodes - 1) * ALIEN
    kept = (1 + machine.cpus // machine.nodes) * batch + slab_objects_of_slab(use.size)
    total = use.cpus * use.peak
    on_cpus = use.cpus * array_level(use.size, use.peak)
    on_nodes = min(max(0, total - on_cpus), nodes * (shared + kept) + aliens)
    metadata = machine.cpus * (ARRAY_HEAD + POINTER * length)
    metadata += machine.nodes * (ARRAY_HEAD + POINTER * shared)
    metadata += machine.nodes * (machine.nodes - 1) * (ARRAY_HEAD + POINTER * ALIEN)
    return Trapped(
        use.caches * on_cpus * use.size, use.caches * on_nodes * use.size, use.caches * metadata
    )


# --- sheaves ----------------------------------------------------------------------------------

BARN = 10
SHEAF_HEAD = 32


def sheaf_length(size):
    """Objects in a sheaf."""
    if size >= PAGE:
        return 4
    if size >= KIB:
        return 12
    return 28 if size >= 256 else 60


def sheaf_slab_bytes(size):
    """A slab of SLUB on a machine of many CPUs: 36 objects are wanted, order 3 at most."""
    order = PAGE
    while order < 8 * PAGE and order // size < 36:
        order *= 2
    return order


def held_by_sheaves(machine, use):
    """Objects in sheaves after a peak."""
    length = sheaf_length(use.size)
    on_cpus = use.cpus * min(2 * length, use.peak)
    return on_cpus + min(use.nodes(machine) * BARN * length, use.cpus * use.peak - on_cpus)


def trapped_sheaves(machine, use):
    """Two sheaves of each CPU, the full sheaves of the barn, and the empty slabs that a node
    keeps. Each possible CPU has a sheaf for each cache."""
    length, nodes = sheaf_length(use.size), use.nodes(machine)
    on_cpus = use.cpus * min(2 * length, use.peak)
    left = max(0, use.cpus * use.peak - on_cpus)
    in_barn = min(left, nodes * BARN * length)
    left -= in_barn
    kept = min(left * use.size, nodes * min_partial(use.size) * sheaf_slab_bytes(use.size))
    sheaves = machine.cpus + use.cpus + nodes * 2 * BARN
    metadata = sheaves * (SHEAF_HEAD + POINTER * length)
    return Trapped(
        use.caches * on_cpus * use.size,
        use.caches * (in_barn * use.size + kept),
        use.caches * metadata,
    )


# --- caches of threads ------------------------------------------------------------------------

# jemalloc: objects of a slab by size class, as its documentation has them.
JEMALLOC_SLABS = {64: 64, 80: 256, 96: 128, 112: 256, 128: 32, 160: 128, 192: 64, 224: 128}
JEMALLOC_SLABS |= {256: 16, 320: 64, 384: 32, 448: 64, 512: 8, 640: 32, 768: 16, 896: 32}
JEMALLOC_SLABS |= {1024: 4, 1280: 16, 1536: 8, 1792: 16, 2048: 2, 2560: 8, 3072: 4, 3584: 8}
# Fitted: a thread's arrays, and slabs of which it holds a part.
JEMALLOC_THREAD = 12 * KIB
MIMALLOC_PAGE = 64 * KIB


def class_of(size):
    """The size class of jemalloc: four to each power of two."""
    return min(c for c in JEMALLOC_SLABS if c >= size)


def tcache_length(size):
    """Objects of a size that a thread of jemalloc holds."""
    return clamp(2 * JEMALLOC_SLABS[class_of(size)], 20, 200)


def trapped_jemalloc(machine, use):
    """The array of each thread, for each size: caches of one size share it."""
    threads, held = use.cpus * machine.threads, min(tcache_length(use.size), use.peak)
    return Trapped(use.caches * threads * held * class_of(use.size), 0, threads * JEMALLOC_THREAD)


def trapped_mimalloc(machine, use):
    """At most one page of each thread and size that has an object in use, almost empty."""
    return Trapped(use.caches * use.cpus * machine.threads * MIMALLOC_PAGE, 0, 0)


TRAPPED = {
    "libslab": trapped_libslab,
    "libslab after decay": trapped_libslab_idle,
    "SLAB": trapped_slab,
    "sheaves": trapped_sheaves,
    "jemalloc": trapped_jemalloc,
    "mimalloc": trapped_mimalloc,
}
HELD = {"libslab": held_by_libslab, "SLAB": held_by_slab, "sheaves": held_by_sheaves}
