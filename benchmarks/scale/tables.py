# SPDX-License-Identifier: MIT
"""What the model says about large machines: tables of memory, exchanges and locks."""

import csv
from dataclasses import dataclass
import math
import os

import model
import operations
import queueing

HERE = os.path.dirname(os.path.abspath(__file__))
MACHINES = [model.Machine(c, n) for c, n in ((64, 2), (128, 4), (256, 4), (512, 8))]
SIZE = 240
CACHES = 100
PEAK = 1000
FEW_CPUS = 4
LOADS = {
    "local": "a CPU frees its own objects",
    "pairs": "another CPU of the node frees",
    "pairs-remote": "a CPU of another node frees",
    "elsewhere": "any CPU frees",
    "burst": "a CPU allocates 850 objects, then frees them",
}
BURST = 850
LARGE_BURST = 16 * model.MIB // SIZE // 4
# Lines that a thread with pages_lock takes over from another CPU: lock, list, descriptor, table.
PAGES_LINES = 4
# Lines with the lock and the counts of a node; pointers are in further ones.
NODE_LINES = 2
POINTERS_OF_LINE = 8
# Assumed for locks that this machine does not run: a short hold, and a freelist entry of SLAB.
SHORT_HOLD = 20
SLAB_OBJECT = 5
# Lines of a slot and a LIFO that a decay pass reads.
SLOT_LINES = 6


def read_inputs(path=os.path.join(HERE, "inputs.csv")):
    """{name: number}."""
    with open(path, newline="", encoding="utf-8") as file:
        return {row["name"]: float(row["value"]) for row in csv.DictReader(file)}


def markdown(head, rows):
    """A table; the first column is text."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def with_threads(machine, name):
    """The machine with one or four threads for each CPU: "jemalloc, 4 threads a CPU"."""
    return model.Machine(machine.cpus, machine.nodes, 4 if "4 threads" in name else 1)


DESIGNS = ["libslab", "libslab after decay", "SLAB", "sheaves"]
DESIGNS += ["jemalloc", "jemalloc, 4 threads a CPU", "mimalloc", "mimalloc, 4 threads a CPU"]


def trapped_bytes(name, machine, cpus_of_cache, peak=PEAK, size=SIZE, caches=CACHES):
    """Of one design, for caches that each use some CPUs, or all."""
    cpus = min(cpus_of_cache or machine.cpus, machine.cpus)
    use = model.Use(size, caches, cpus, peak)
    return model.TRAPPED[name.split(",")[0]](with_threads(machine, name), use).total()


def mebibytes(count):
    """A number of bytes."""
    return f"{count / model.MIB:,.{0 if count > 100 * model.MIB else 1}f}"


def head_of_machines(first):
    """The head of a table with a column for each machine."""
    return [first] + [f"{m.cpus} CPUs, {m.nodes} nodes" for m in MACHINES]


def memory_table(cpus_of_cache, peak=PEAK, size=SIZE, caches=CACHES):
    """MiB for each design and machine."""
    rows = []
    for name in DESIGNS:
        held = [trapped_bytes(name, m, cpus_of_cache, peak, size, caches) for m in MACHINES]
        rows.append([name] + [mebibytes(b) for b in held])
    return markdown(head_of_machines("MiB"), rows)


def load_of(name):
    """The load of a row."""
    return operations.Load(SIZE, BURST if name == "burst" else 64)


def exchange_table(machine):
    """Exchanges for each operation."""
    rows = []
    for name, what in LOADS.items():
        costs = [cost(name, load_of(name), machine) for cost in operations.COSTS.values()]
        rows.append([f"{name}: {what}"] + [f"{cost.exchanges:.3f}" for cost in costs])
    return markdown(["load", *operations.COSTS], rows)


@dataclass(frozen=True)
class Lock:
    """A lock under a load: operations a second of each CPU, acquisitions for each, and its hold."""

    name: str
    load: str
    rate: float
    acquisitions: float
    hold: float
    of_node: bool


def magazine_hold(inputs, size):
    """Of a node's lock: magazines are copied under it, from lines of another CPU."""
    half = model.lifo_length(size) // 2
    base = inputs["hold_magazine_64"] if half > 128 else inputs["hold_magazine_240"]
    return base + (NODE_LINES + half / POINTERS_OF_LINE) * inputs["line_transfer"]


def locks(inputs):
    """The locks of all designs."""
    line, far = inputs["line_transfer"], inputs["line_far"]
    pages = (inputs["hold_pages_take"] + inputs["hold_pages_free"]) / 2 + PAGES_LINES * far
    directory = 2 * inputs["ldap_operations_per_cpu"] * inputs["allocations_per_ldap_operation"]
    moving = 1e9 / inputs["pair_of_cpus"]
    bursts = 1e9 / inputs["burst_operation"]
    batch = model.batch_of_slab(SIZE)
    large = operations.libslab_burst(operations.Load(SIZE, LARGE_BURST), MACHINES[-1])
    pairs = operations.libslab_pairs(operations.Load(SIZE), True)
    copied = SHORT_HOLD + (NODE_LINES + batch / POINTERS_OF_LINE) * line
    listed = SHORT_HOLD + NODE_LINES * line + batch * SLAB_OBJECT
    barn = SHORT_HOLD + NODE_LINES * line
    magazine = magazine_hold(inputs, SIZE)
    to_lists = inputs["node_lists_per_allocation"] / 2
    to_pages = inputs["slabs_per_allocation"] / 2
    node, queue = "libslab, node of a cache", "SLAB, list_lock of a node"
    full_speed = "pairs at full speed"
    return [
        Lock(node, full_speed, moving, pairs.node, magazine, True),
        Lock(node, "directory, all in one cache", directory, to_lists, magazine, True),
        Lock("libslab, pages_lock", "bursts of 4 MiB", bursts, large.pages, pages, False),
        Lock("libslab, pages_lock", "directory", directory, to_pages, pages, False),
        Lock(queue, full_speed, moving, 1 / batch, copied, True),
        Lock(queue, "bursts of 4 MiB", bursts, 1 / batch, listed, True),
        Lock("sheaves, barn of a node", full_speed, moving, 1 / model.sheaf_length(SIZE), barn, True),
    ]


def format_cpus(cpus):
    """A number of CPUs."""
    return "never" if math.isinf(cpus) else f"{cpus:,.1f}" if cpus < 10 else f"{cpus:,.0f}"


def lock_table(inputs):
    """Where locks saturate, and how busy each is on the machines."""
    head = ["lock", "load", "acquisitions an operation", "hold, ns", "CPUs that saturate it"]
    head += [f"{m.cpus}/{m.nodes}" for m in MACHINES]
    rows = []
    for lock in locks(inputs):
        most = queueing.cpus_at_saturation(lock.rate, lock.acquisitions, lock.hold)
        busy = [(m.cpus / m.nodes if lock.of_node else m.cpus) / most for m in MACHINES]
        numbers = [f"{lock.acquisitions:.5f}", f"{lock.hold:.0f}", format_cpus(most)]
        busy = [f"{b:.0%}" if b < 1 else f"**{b:.1f}×**" for b in busy]
        rows.append([lock.name, lock.load, *numbers, *busy])
    return markdown(head, rows)


def fence_ns(inputs, machine):
    """membarrier() interrupts each CPU that runs the process: in proportion to their number."""
    return inputs["fence"] * machine.cpus / 2


def pass_ns(inputs, machine, caches=CACHES):
    """A decay pass reads the slots of all CPUs of all caches."""
    far = inputs["line_far"] if machine.nodes > 1 else inputs["line_transfer"]
    return caches * machine.cpus * SLOT_LINES * far


def address_space_of_libslab(possible, caches):
    """Address space of slots: rows for each CPU that the kernel can number."""
    return math.ceil(caches / model.ROW_CACHES) * (possible + 2) * model.ROW_BYTES


def other_table(inputs):
    """What grows with the number of CPUs besides queues and locks."""
    def slots(cpus):
        return mebibytes(model.slots_of_libslab(model.Use(SIZE, CACHES, cpus, PEAK)))

    every = ["slots and LIFOs, all CPUs use 100 caches, MiB"] + [slots(m.cpus) for m in MACHINES]
    few = ["the same, 4 CPUs use each cache, MiB"] + [slots(FEW_CPUS) for _ in MACHINES]
    space = [address_space_of_libslab(m.cpus, CACHES) for m in MACHINES]
    return markdown(head_of_machines("libslab"), [
        every,
        few,
        ["address space of slots, 100 caches, MiB"] + [mebibytes(b) for b in space],
        ["a fence (membarrier), µs"] + [f"{fence_ns(inputs, m) / 1e3:.0f}" for m in MACHINES],
        ["a decay pass reads slots for, ms"] + [f"{pass_ns(inputs, m) / 1e6:.0f}" for m in MACHINES],
    ])
