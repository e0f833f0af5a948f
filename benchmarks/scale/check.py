# SPDX-License-Identifier: MIT
"""The check of the model: what it predicts for each run of measured.csv, and what was measured."""

from dataclasses import dataclass

import model
import operations

# Errors beyond this are named in docs/scale.md.
MOST_ERROR = 0.25
# What a process with one cache takes besides slots and slabs: handles, tables, descriptors; and
# for each node. Fitted.
PROCESS_BYTES = 88 * model.KIB
NODE_BYTES = 26 * model.KIB
# benchmarks/baselines takes a lock to take and to leave a CPU's spare sheaf, and one for each of
# the barn's lists. The kernel takes the barn's lock once.
SHEAF_EXCHANGES = 4
# Rarer locks and exchanges are not compared: a few events in a run.
LEAST = 0.003


@dataclass(frozen=True)
class Row:
    """A prediction and its measurement."""

    case: dict
    what: str
    predicted: float
    measured: float

    def error(self):
        """Relative to the measurement."""
        return self.predicted / self.measured - 1

    def is_off(self):
        """Is the model wrong here?"""
        return abs(self.error()) > MOST_ERROR


def load_name(case):
    """The model's name of a load: a remote pair has its CPUs on two nodes."""
    is_remote = case["load"] == "pairs" and case["distance"] % case["nodes"]
    return "pairs-remote" if is_remote else case["load"]


def locks(values, mutex, callers=""):
    """Acquisitions of a mutex for each operation."""
    found = [v for k, v in values.items() if k.startswith(f"lock:{mutex}:") and callers in k]
    return sum(found) / values["operations"]


def node_locks(values):
    """Acquisitions of locks of nodes."""
    return locks(values, "cache", "magazine") + locks(values, "cache", "node_")


def counted_exchanges(values):
    """Exchanges for each operation by counters: for loads that single steps would change."""
    mutexes = sum(v for k, v in values.items() if k.startswith("lock:"))
    magazines = sum(v for k, v in values.items() if "magazine_" in k and k.startswith("lock:"))
    names = ("free_remote_batch", "free_own", "deactivate_full", "alloc_refill")
    events = sum(values.get(name, 0) for name in names)
    accounts = 6 * values.get("alloc_slab", 0)
    return (operations.MUTEX * mutexes + magazines + events + accounts) / values["operations"]


def memory_rows(case, values):
    """Rows of a run of the load `memory`."""
    machine = model.Machine(case["cpus"], case["nodes"])
    use = model.Use(case["size"], case["caches"], case["cpus"], case["batch"])
    trapped = model.TRAPPED[case["allocator"]](machine, use)
    if case["allocator"] not in model.HELD:
        yield Row(case, "resident bytes", trapped.total(), values["resident"])
        return
    if use.caches == 1:
        held = model.HELD[case["allocator"]](machine, use)
        yield Row(case, "objects in queues", held, values["held_objects"])
    if case["allocator"] == "libslab":
        if use.caches == 1:
            yield Row(case, "bytes of slabs", trapped.cpu + trapped.node, values["slab_bytes"])
        after = trapped.metadata + PROCESS_BYTES + NODE_BYTES * case["nodes"]
        yield Row(case, "resident bytes after decay", after, values["purged:resident"])


def operation_rows(case, values):
    """Rows of a run of another load."""
    machine = model.Machine(case["cpus"], case["nodes"])
    load = operations.Load(case["size"], case["batch"])
    name = load_name(case)
    if case["allocator"] == "sheaves":
        cost = operations.sheaves_cost(name, load, machine, SHEAF_EXCHANGES)
    else:
        cost = operations.COSTS[case["allocator"]](name, load, machine)
    if "stepped" in values:
        measured = values["locked"] / values["stepped"]
    else:
        measured = counted_exchanges(values)
    yield Row(case, "exchanges", cost.exchanges, measured)
    if case["allocator"] == "libslab":
        yield Row(case, "acquisitions of locks of nodes", cost.node, node_locks(values))
        yield Row(case, "acquisitions of pages_lock", cost.pages, locks(values, "pages_lock"))


def is_worth_comparing(row):
    """Is the quantity more than a few events?"""
    return row.measured and max(row.predicted, row.measured) > LEAST


def rows(measured):
    """All rows that are worth comparing."""
    for case, values in measured:
        if case["load"] == "memory":
            yield from memory_rows(case, values)
        else:
            yield from filter(is_worth_comparing, operation_rows(case, values))


def format_number(value):
    """Bytes and objects whole, rates with four digits."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.4f}"


def table(measured):
    """Markdown."""
    lines = [
        "| allocator | load | bytes | CPUs | nodes | caches | batch | quantity | model | measured | error |",
        "|---|---|--:|--:|--:|--:|--:|---|--:|--:|--:|",
    ]
    for row in rows(measured):
        case = row.case
        error = f"{100 * row.error():+.0f} %"
        lines.append(
            f"| {case['allocator']} | {load_name(case)} | {case['size']} | {case['cpus']} "
            f"| {case['nodes']} | {case['caches']} | {case['batch']} | {row.what} | {format_number(row.predicted)} "
            f"| {format_number(row.measured)} | {f'**{error}**' if row.is_off() else error} |"
        )
    return "\n".join(lines)
