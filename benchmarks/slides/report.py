# SPDX-License-Identifier: MIT
"""From raw rows to medians, minima, tables beside the published figures, and goals."""
import collections
import csv
import math
import statistics

CSV_HEADER = "round,contestant,row,bytes,median,minimum"
OURS = "slab"
MIB = 1 << 20
BATCH = 16

# Rows of benchmarks/objects, and the columns of the slides that they are.
FAST = collections.OrderedDict([
    ("in_order.alloc", "alloc"), ("in_order.free", "free"), ("pair", "alloc/free"),
    ("all.alloc", "alloc concurrent"), ("all.free", "free concurrent")])
REMOTE = collections.OrderedDict([
    ("all_to_one.free", "all allocate, one frees"), ("one_to_all.free", "one allocates, all free")])
ALLOCATIONS = ("alloc", "alloc concurrent")
OBJECT_ROWS = list(FAST) + list(REMOTE)
MODES = collections.OrderedDict([
    ("bulk.local", "alloc, local"), ("bulk.partial", "alloc, partial"), ("bulk.new", "alloc, new"),
    ("bulk.full", "alloc, full"), ("bulk.free", "free")])

# Cycles of slides 28 and 30: a Haswell desktop with 8 cores, lowest count of the test.
PUBLISHED_FAST = {"SLAB": (66, 73, 102, 232, 984), "SLUB": (45, 70, 52, 90, 119),
                  "SLOB": (183, 173, 172, 3008, 3037)}
PUBLISHED_REMOTE = {"SLAB": (650, 761), "SLUB": (595, 498), "SLOB": (2650, 2013)}
# Slide 29, seconds of five runs, 2000 messages.
PUBLISHED_HACKBENCH = {"SLAB": (4.92, 4.87, 4.85, 4.98, 4.85), "SLUB": (4.84, 4.75, 4.85, 4.9, 4.8)}
# Slide 26, KiB: reclaimable and not. SLOB has no counters; about 300 KiB less than SLUB.
PUBLISHED_MEMORY = {"SLAB": 29028 + 36532, "SLUB": 29852 + 32628}
# The seed: milliseconds, a laptop with glibc's malloc.
PUBLISHED_BLOCK = {240: 177.4, 712: 354.1}
SLUB_CYCLES = (("in_order.alloc", 45), ("in_order.free", 70), ("pair", 52))
BULK_CYCLES = 17
# What grows with a product of CPUs and nodes that are eight times as many grows by more than this.
INDEPENDENT = 1.1
KIB = 1024

Goal = collections.namedtuple("Goal", "row size ours theirs whose ratio limit")


class Results:
    """Medians of the rounds' medians, and the least of all, by (contestant, row, bytes)."""

    def __init__(self, path, contestants):
        self.contestants = contestants
        found = collections.defaultdict(list)
        with open(path, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row["median"]:
                    key = row["contestant"], row["row"], int(row["bytes"])
                    found[key].append((float(row["median"]), float(row["minimum"])))
        self.medians = {key: statistics.median(m for m, _ in rows) for key, rows in found.items()}
        self.minima = {key: min(m for _, m in rows) for key, rows in found.items()}

    def sizes(self, row):
        return sorted({key[2] for key in self.medians if key[1] == row})

    def value(self, name, row, size):
        """What is judged: the minimum, as the slides', and the median of what is no duration."""
        table = self.medians if row.startswith(("memory.", "trapped.", "unused.")) else self.minima
        return table.get((name, row, size))

    def best(self, row, size):
        """(value, name) of the best other design."""
        found = [(self.value(name, row, size), name) for name in self.contestants if name != OURS]
        found = [pair for pair in found if pair[0] is not None]
        return min(found) if found else (None, None)

    def ratio(self, name, row, size):
        ours, best = self.value(name, row, size), self.best(row, size)[0]
        return ours / best if ours is not None and best else None


def number(value):
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def cell(found, name, row, size):
    minimum = found.minima.get((name, row, size))
    if minimum is None:
        return ""
    return f"{number(minimum)} ({number(found.medians[name, row, size])})"


def ratio_cell(found, row, size):
    best, whose = found.best(row, size)
    ratio = found.ratio(OURS, row, size)
    return f"{ratio:.2f} of {whose}" if ratio is not None and best else ""


def cycles_table(found, columns, published):
    """A slide's table for each size: contestants by columns, and what was published."""
    lines = []
    for size in found.sizes(next(iter(columns))):
        lines += ["", f"{size} bytes, cycles: minimum (median)", "",
                  "| | " + " | ".join(columns.values()) + " |", "|---|" + "---:|" * len(columns)]
        for name in found.contestants:
            lines.append(f"| {name} | " + " | ".join(cell(found, name, row, size) for row in columns) + " |")
        lines.append("| libslab / best other | " +
                     " | ".join(ratio_cell(found, row, size) for row in columns) + " |")
    if lines:
        for name, values in published.items():
            lines.append(f"| kernel's {name}, slide | " + " | ".join(map(str, values)) + " |")
    return lines


def memory_table(found):
    used = found.medians.get((OURS, "memory.used", 0))
    if used is None:
        return []
    lines = ["", "| | resident, MiB | of the bytes in use |", "|---|---:|---:|"]
    for name in found.contestants:
        value = found.value(name, "memory.resident", 0)
        if value is not None:
            lines.append(f"| {name} | {value / MIB:.2f} | {value / used:.3f} |")
    lines += [f"| kernel's {name}, slide | {kib / 1024:.1f} | |" for name, kib in PUBLISHED_MEMORY.items()]
    return lines


def simple_table(found, row, unit, published):
    sizes = found.sizes(row)
    if not sizes:
        return []
    lines = ["", f"| | {' | '.join(f'{size} bytes, {unit}' for size in sizes)} |",
             "|---|" + "---:|" * len(sizes)]
    for name in found.contestants:
        cells = []
        for size in sizes:
            low, middle = found.minima.get((name, row, size)), found.medians.get((name, row, size))
            cells.append("" if low is None else f"{low:.3g} ({middle:.3g})")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines + published


def by_nodes(found, prefix, table, unit):
    """Rows by nodes and design, columns by CPUs; prefix: of rows that end in the number of nodes."""
    rows = {int(key[1][len(prefix):]): key[1] for key in found.medians if key[1].startswith(prefix)}
    if not rows:
        return []
    cpus = found.sizes(rows[min(rows)])
    lines = ["| nodes | | " + " | ".join(f"{n} CPUs" for n in cpus) + " |",
             "|---:|---|" + "---:|" * len(cpus)]
    for nodes in sorted(rows):
        for name in found.contestants:
            values = [table.get((name, rows[nodes], n)) for n in cpus]
            lines.append(f"| {nodes} | {name} | " + " | ".join(
                "" if value is None else f"{value / unit:.2f}" for value in values) + " |")
    return lines


def trapped_table(found, medians, title):
    lines = by_nodes(found, "trapped.", found.medians if medians else found.minima, MIB)
    return ["", title, ""] + lines if lines else []


UNUSED = (("unused.never.", "No CPU has used the cache; resident bytes with all that the cache consists of:"),
          ("unused.once.", "Each CPU allocated one object and freed it, then the periodic work ran; "
           "resident bytes:"),
          ("unused.once_slabs.", "The same, bytes of slabs:"))


def unused_tables(found):
    lines = []
    for prefix, title in UNUSED:
        table = by_nodes(found, prefix, found.minima, KIB)
        lines += ["", title, ""] + table if table else []
    return lines


def against_best(found, row, size, limit):
    ours, (theirs, whose) = found.value(OURS, row, size), found.best(row, size)
    if ours is None or not theirs:
        return []
    return [Goal(row, size, ours, theirs, whose, ours / theirs, limit)]


def against(found, row, size, limit, whose):
    ours = found.value(OURS, row, size)
    return [] if ours is None else [Goal(row, size, ours, limit, whose, ours / limit, 1.0)]


def independence(found, row, title):
    """What an unused cache holds with the most CPUs and nodes, against the fewest of both."""
    rows = {int(key[1][len(row):]): key[1] for key in found.minima if key[1].startswith(row)}
    if len(rows) < 2:
        return []
    cpus = found.sizes(rows[min(rows)])
    most, least = (found.minima.get((OURS, rows[pick(rows)], pick(cpus))) for pick in (max, min))
    if most is None or least is None:
        return []
    ratio = most / least if least else (1.0 if most == 0 else math.inf)
    return [Goal(title, cpus[-1], most, least, f"{cpus[0]} CPU, 1 node", ratio, INDEPENDENT)]


def goals(found):
    out = []
    for row, title in FAST.items():
        for size in found.sizes(row):
            out += against_best(found, row, size, 0.8 if title in ALLOCATIONS else 1.0)
    for row in REMOTE:
        for size in found.sizes(row):
            out += against_best(found, row, size, 0.5)
    for row, limit in SLUB_CYCLES:
        for size in found.sizes(row):
            out += against(found, row, size, limit, "SLUB's published cycles")
    out += against_best(found, "memory.resident", 0, 1.0)
    for size in found.sizes("bulk.full"):
        out += against_best(found, "bulk.full", size, 1.0) + against_best(found, "bulk.free", size, 1.0)
        alloc, free = (found.value(OURS, row, size) for row in ("bulk.full", "bulk.free"))
        if alloc is not None and free is not None:
            total = alloc + free
            out.append(Goal(f"bulk of {BATCH}", size, total, BULK_CYCLES, "SLUB's published cycles",
                            total / BULK_CYCLES, 1.0))
    for row in ("hackbench", "block"):
        for size in found.sizes(row):
            out += against_best(found, row, size, 1.0)
    for row, _ in UNUSED:
        out += independence(found, row, row[:-1])
    return out


def size_shown(size):
    return "" if size == 0 else str(size)


def goals_table(found):
    lines = ["| row | bytes | libslab | against | | ratio | goal | |",
             "|---|---:|---:|---|---:|---:|---:|---|"]
    for goal in goals(found):
        lines.append(f"| {goal.row} | {size_shown(goal.size)} | {number(goal.ours)} | {goal.whose} "
                     f"| {number(goal.theirs)} | {goal.ratio:.2f} | ≤ {goal.limit:.2f} "
                     f"| {'met' if goal.ratio <= goal.limit else '**missed**'} |")
    return lines if len(lines) > 2 else []


def section(title, lines):
    return ["", f"## {title}"] + lines if lines else []


def markdown(found, head, options):
    seconds = [f"| kernel's {name}, slide, 2000 messages | " + " ".join(map(str, runs)) + " |"
               for name, runs in PUBLISHED_HACKBENCH.items()]
    blocks = ["| glibc, the seed's laptop | " +
              " | ".join(str(PUBLISHED_BLOCK[size]) for size in sorted(PUBLISHED_BLOCK)) + " |"]
    out = ["# The slides' tables", ""] + [f"- {line}" for line in head]
    out += ["", f"{options.rounds} rounds. Each cell has the least of all laps, as the slides, and in brackets "
            "the median of the rounds' medians. The kernel's figures are of another machine and of "
            "another time: they show proportions. benchmarks/slides/README.md says what each case does."]
    out += section("Goals", [""] + goals_table(found) if goals(found) else [])
    out += section("Slide 28: fast paths", cycles_table(found, FAST, PUBLISHED_FAST))
    out += section("Slide 30: remote freeing", cycles_table(found, REMOTE, PUBLISHED_REMOTE))
    out += section("Slide 26: memory after the same load", memory_table(found))
    out += section(f"Slide 29: hackbench, {options.messages} messages",
                   simple_table(found, "hackbench", "s", seconds))
    out += section(f"Slides 32 to 35: batches of {BATCH}", cycles_table(found, MODES, {}))
    out += section("Slide 12: memory trapped in queues, MiB",
                   trapped_table(found, True, "At once:") +
                   trapped_table(found, False, "After the periodic work:"))
    out += section("Slide 12: caches that are not used, KiB for each of 200", unused_tables(found))
    out += section("A million parameter blocks", simple_table(found, "block", "ms", blocks))
    return "\n".join(out) + "\n"


def summary(found):
    """For the terminal: a line per goal."""
    judged = goals(found)
    lines = [f"{goal.row:<16} {size_shown(goal.size):>5}  {number(goal.ours):>8}  {goal.whose} "
             f"{number(goal.theirs)}  {goal.ratio:.2f} ≤ {goal.limit:.2f}  "
             f"{'met' if goal.ratio <= goal.limit else 'MISSED'}" for goal in judged]
    met = sum(goal.ratio <= goal.limit for goal in judged)
    return "\n".join(lines + ([f"{met} of {len(judged)} goals met"] if judged else []))
