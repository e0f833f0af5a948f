# SPDX-License-Identifier: MIT
"""From raw rows to medians, ratios and the goals they are held against."""
import collections
import csv
import statistics

CSV_HEADER = "round,contestant,case,bytes,threads,ns,ns_min,cycles,cycles_min,resident"
GOAL_SIZES = (64, 240, 712, 2112)
RIVALS = ("glibc", "jemalloc", "tcmalloc", "mimalloc", "gslice", "jemalloc5", "mimalloc2",
          "mimalloc3", "snmalloc")
FLOOR = "dpdk"
EMPTY = "empty"  # the cost of a case without an allocator
RING_CASES = ("ring.1", "ring.64")
LINE_CASE = "ring.line"
FAR_NS = 150  # a cache line takes longer between CPUs that share no cache
TRACE_CASES = ("trace", "trace.elapsed", "memory.trace")
NO_SIZE = 0  # of a trace, which has objects of many sizes
MIB = 1 << 20

# What a case is, for readers. Cases are shown in this order.
TITLES = {
    "pair": "allocate and free at once",
    "in_order.alloc": "10000 allocations",
    "in_order.free": "their frees, in order",
    "random.alloc": "10000 allocations after frees in random order",
    "random.free": "10000 frees in random order",
    "cold.alloc": "10000 allocations in a fresh process",
    "cold.free": "their first frees",
    "all.pair": "pairs on all CPUs at once",
    "all.alloc": "10000 allocations on each CPU at once",
    "all.free": "their frees on each CPU at once",
    "all_to_one.alloc": "all CPUs allocate, one will free",
    "all_to_one.free": "one CPU frees what all allocated",
    "one_to_all.alloc": "one CPU allocates, all will free",
    "one_to_all.free": "all CPUs free what one allocated",
    "ring.1": "from thread to thread, one at a time",
    "ring.64": "from thread to thread, batches of 64",
    "ring.line": "a cache line from CPU to CPU, no allocator",
    "lifetimes": "free a random object and allocate one, in turns",
    "lifetimes.shared": "the same objects shared by two threads",
    "lifetimes.random": "a coin frees or allocates among 100000 live objects",
    "lifetimes.touched": "the same, a line written before each free",
    "lifetimes.random_2": "the same by 2 threads with 100000 objects each",
    "lifetimes.zipf": "ages of a Zipf distribution, 100000 live objects",
    "lifetimes.burst": "free 1 to 1000 at random, allocate as many",
    "survivors.alloc": "10000 allocations beside 90000 survivors",
    "survivors.free": "frees of a random tenth of 100000 objects",
    "trace": "allocations and frees of a directory, CPU time of each",
    "trace.elapsed": "the same, elapsed time of its CPUs",
    "threads.2": "2 threads in bursts of 500",
    "threads.64": "64 threads in bursts of 500",
    "memory.live": "resident with 100000 live objects",
    "memory.random": "resident after random lifetimes",
    "memory.trace": "resident at the end of the trace",
    "memory.idle_2": "resident when 2 threads became idle",
    "memory.idle_64": "resident when 64 threads became idle",
}

Goal = collections.namedtuple("Goal", "case ours against limit sizes", defaults=(GOAL_SIZES,))

# Against "rivals": the best malloc of the row. Otherwise a contestant and a case.
GOALS = (
    [Goal(case, "slab", "rivals", limit) for case, limit in (
        ("pair", 0.80), ("all.pair", 0.80),
        ("in_order.alloc", 0.85), ("random.alloc", 0.85), ("all.alloc", 0.85),
        ("in_order.free", 0.80), ("random.free", 0.80), ("all.free", 0.80),
        ("lifetimes", 0.80), ("lifetimes.shared", 0.80), ("cold.alloc", 0.80),
        ("threads.64", 0.90),
        ("memory.live", 1.00), ("memory.idle_64", 1.00))]
    + [Goal(case, "slab-lto", (FLOOR, case), 1.00) for case in (
        "pair", "in_order.alloc", "in_order.free", "ring.1", "ring.64", "lifetimes",
        "lifetimes.shared")]
    + [Goal(case, "slab", "rivals", limit, sizes) for case in ("ring.1", "ring.64")
       for limit, sizes in ((1.00, (64, 240)), (0.70, (712, 2112)))]
    + [Goal(case, "slab-malloc", "rivals", 1.00) for case in (
        "pair", "in_order.alloc", "in_order.free", "random.alloc", "random.free")]
    + [Goal("lifetimes.random", "slab", "rivals", 1.00, (64,)),
       Goal("lifetimes.random", "slab", "rivals", 0.90, (240, 712, 2112)),
       Goal("memory.random", "slab", "rivals", 1.00)]
    + [Goal("trace", "slab", "rivals", 0.80, (NO_SIZE,))]
    + [Goal("bulk.16", "slab", ("slab", "singles.16"), 0.50),
       Goal("memory.idle_64", "slab", ("slab", "memory.idle_2"), 1.00)]
)


def ring_of(row):
    return row["round"], row["contestant"], row["bytes"]


def far_rings(rows):
    """By process and size: were the two CPUs of its rings far apart? A hypervisor may move them."""
    return {ring_of(row): float(row["ns"]) > FAR_NS for row in rows if row["case"] == LINE_CASE}


def rings_shown(far, mostly):
    if not far:
        return ""
    same = sum(value == mostly for value in far.values())
    return (f"Rings: in {same} of {len(far)} processes and sizes the two CPUs were "
            f"{'far' if mostly else 'near'} (a cache line takes {'more' if mostly else 'less'} "
            f"than {FAR_NS} ns); the ring rows show these only.")


class Table:
    """Medians and minima by (contestant, case, bytes)."""

    def __init__(self, path, contestants, cases):
        self.contestants = contestants
        rows = collections.defaultdict(list)
        with open(path, encoding="utf-8", newline="") as file:
            read = list(csv.DictReader(file))
        far = far_rings(read)
        mostly = sum(far.values()) * 2 > len(far)
        self.rings = rings_shown(far, mostly)
        for row in read:
            if row["case"] not in RING_CASES or far.get(ring_of(row), mostly) == mostly:
                rows[row["contestant"], row["case"], int(row["bytes"])].append(row)
        self.cells = {key: self.cell(key[1], found) for key, found in rows.items()}
        self.sizes = sorted({key[2] for key in rows})
        known = [case for case in TITLES if case in cases]
        self.cases = known + [case for case in cases if case not in TITLES]

    @staticmethod
    def cell(case, rows):
        """ns: the median of what the processes found; bytes for memory."""
        if case.startswith("memory."):
            values = [float(row["resident"]) for row in rows]
            return {"value": statistics.median(values), "min": min(values), "cycles": None}
        return {"value": statistics.median(float(row["ns"]) for row in rows),
                "min": min(float(row["ns_min"]) for row in rows),
                "cycles": statistics.median(float(row["cycles"]) for row in rows)}

    def value(self, contestant, case, size):
        cell = self.cells.get((contestant, case, size))
        return cell["value"] if cell else None

    def best_rival(self, case, size):
        """(value, name) of the best malloc; bulk cases are held against their singles."""
        case = case.replace("bulk.", "singles.")
        found = [(self.value(name, case, size), name) for name in RIVALS]
        found = [pair for pair in found if pair[0] is not None]
        return min(found) if found else (None, None)

    def shortest(self, contestant, case, size):
        cell = self.cells.get((contestant, case, size))
        return cell["min"] if cell else None

    def shortest_ratio(self, contestant, case, size):
        """Shortest lap against the shortest lap of the rival whose lap is the shortest."""
        ours = self.shortest(contestant, case, size)
        case = case.replace("bulk.", "singles.")
        found = [self.shortest(name, case, size) for name in RIVALS]
        found = [value for value in found if value]
        return ours / min(found) if ours is not None and found else None

    def ratio(self, contestant, case, size):
        """To the best rival, or None."""
        ours, best = self.value(contestant, case, size), self.best_rival(case, size)[0]
        return ours / best if ours is not None and best else None


def shown(case, value):
    if value is None:
        return ""
    if case.startswith("memory."):
        return f"{value / MIB:.2f}"
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def size_shown(size):
    return "all" if size == NO_SIZE else str(size)


def judge(table, goal):
    """One line per size of a goal: (size, ours, theirs, whose, ratio, met)."""
    lines = []
    for size in goal.sizes:
        ours = table.value(goal.ours, goal.case, size)
        if goal.against == "rivals":
            theirs, whose = table.best_rival(goal.case, size)
        else:
            theirs = table.value(goal.against[0], goal.against[1], size)
            whose = goal.against[0] if goal.against[1] == goal.case else goal.against[1]
        if ours is None or not theirs:
            continue
        ratio = ours / theirs
        lines.append((size, ours, theirs, whose, ratio, ratio <= goal.limit))
    return lines


def goals_table(table):
    lines = ["| case | bytes | ours | | against | | ratio | goal | |",
             "|---|---:|---|---:|---|---:|---:|---:|---|"]
    for goal in GOALS:
        for size, ours, theirs, whose, ratio, met in judge(table, goal):
            lines.append(f"| {goal.case} | {size_shown(size)} | {goal.ours} | {shown(goal.case, ours)} "
                         f"| {whose} | {shown(goal.case, theirs)} | {ratio:.2f} "
                         f"| ≤ {goal.limit:.2f} | {'met' if met else '**missed**'} |")
    return lines if len(lines) > 2 else []


def case_table(table, case):
    names = [name for name in table.contestants
             if any(table.value(name, case, size) is not None for size in table.sizes)]
    sizes = [size for size in table.sizes
             if any(table.value(name, case, size) is not None for name in names)]
    if not names:
        return []
    unit = "MiB" if case.startswith("memory.") else "ns"
    title = f"{case}: {TITLES[case]}" if case in TITLES else case
    columns = names + ["best rival", "slab / best rival (minima)",
                       "slab-lto / best rival (minima)", "slab-lto / dpdk"]
    columns += ["slab / best rival, less empty"] if EMPTY in names else []
    lines = ["", f"### {title} ({unit})", "", "| bytes | " + " | ".join(columns) + " |",
             "|---:|" + "---:|" * len(columns)]
    for size in sizes:
        cells = []
        for name in names:
            cell = table.cells.get((name, case, size))
            cells.append(f"{shown(case, cell['value'])} ({shown(case, cell['min'])})"
                         if cell else "")
        cells += ratios(table, case, size)
        cells += [without_empty(table, case, size)] if EMPTY in names else []
        lines.append(f"| {size_shown(size)} | " + " | ".join(cells) + " |")
    return lines


def without_empty(table, case, size):
    """The ratio once the cost of the case itself is subtracted from both."""
    ours, best = table.value("slab", case, size), table.best_rival(case, size)[0]
    empty = table.value(EMPTY, case, size)
    if ours is None or best is None or empty is None or best <= empty:
        return ""
    return f"{(ours - empty) / (best - empty):.2f}"


def ratios(table, case, size):
    best, whose = table.best_rival(case, size)
    cells = [whose if best else ""]
    for name in ("slab", "slab-lto"):
        ratio = table.ratio(name, case, size)
        shortest = table.shortest_ratio(name, case, size)
        cells.append(f"{ratio:.2f} ({shortest:.2f})" if ratio is not None and shortest else "")
    ours, floor = table.value("slab-lto", case, size), table.value(FLOOR, case, size)
    cells.append(f"{ours / floor:.2f}" if ours is not None and floor else "")
    return cells


def cycles_table(table):
    """TSC cycles of the goal sizes, all cases in one table."""
    lines = ["| case | bytes | " + " | ".join(table.contestants) + " | best rival | slab / best |",
             "|---|---:|" + "---:|" * (len(table.contestants) + 2)]
    for case in table.cases:
        for size in (s for s in table.sizes if s in GOAL_SIZES + (NO_SIZE,)):
            cells = [table.cells.get((name, case, size)) for name in table.contestants]
            if any(cell and cell["cycles"] for cell in cells):
                whose = table.best_rival(case, size)[1] or ""
                ratio = table.ratio("slab", case, size)
                lines.append(f"| {case} | {size_shown(size)} | " + " | ".join(
                    [f"{cell['cycles']:.0f}" if cell else "" for cell in cells]
                    + [whose, f"{ratio:.2f}" if ratio is not None else ""]) + " |")
    return lines if len(lines) > 2 else []


def markdown(table, head, rounds, instructions):
    out = ["# Objects: libslab against other allocators", ""]
    out += [f"- {line}" for line in head]
    out += ["", f"Per cell the median of {rounds} processes (each the median of its laps), and in "
            "brackets the shortest lap of all. ns per operation; ring, lifetimes, bursts, singles "
            "and bulk count an allocation with its free. Rivals are " + ", ".join(RIVALS) +
            "; bulk is held against their single calls. Memory is what the allocator keeps "
            "resident. benchmarks/objects/README.md says what each case does."]
    if table.rings:
        out += ["", table.rings]
    goals = goals_table(table)
    if goals:
        out += ["", "## Goals", ""] + goals
    out += ["", "## All cases"]
    for case in table.cases:
        out += case_table(table, case)
    cycles = cycles_table(table)
    if cycles:
        out += ["", "## TSC cycles (medians)", ""] + cycles
    if instructions:
        out += ["", "## Instructions", "", "```", instructions.rstrip("\n"), "```"]
    return "\n".join(out) + "\n"


def summary(table):
    """The goals in short, for the terminal: one line per case."""
    lines, met, judged = [table.rings] if table.rings else [], 0, 0
    for goal in GOALS:
        found = judge(table, goal)
        if not found:
            continue
        met += sum(line[5] for line in found)
        judged += len(found)
        against = "best malloc" if goal.against == "rivals" else found[0][3]
        marks = "  ".join(f"{size_shown(size)}: {ratio:.2f} {'met' if good else 'MISSED'}"
                          for size, _, _, _, ratio, good in found)
        pair = f"{goal.ours} / {against}"
        lines.append(f"{goal.case:<17} {pair:<24} ≤ {goal.limit:.2f}  {marks}")
    if judged:
        lines.append(f"{met} of {judged} goals met")
    return "\n".join(lines)
