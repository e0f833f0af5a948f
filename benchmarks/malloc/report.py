# SPDX-License-Identifier: MIT
"""From figures to medians, ratios and the goals they are held against."""
import collections
import statistics

import preload

MIB = 1 << 20
TITLES = {
    "larson": "a server whose blocks outlive their threads",
    "threads.1": "one thread, 1024 blocks, small sizes most of the time",
    "threads.8": "the same in 8 threads, each for itself",
    "stress": "blocks kept and exchanged by teams of threads that end",
    "remote": "half of the threads free what the others allocated",
    "scratch": "writes to blocks that stood side by side when another thread freed them",
    "thrash": "writes to blocks of 8 bytes that each thread allocates",
    "migrate.pinned": "160,000 blocks, random lifetimes, on one CPU",
    "migrate.moving": "the same by a thread that changes its CPU",
    "directory.ns-slapd": "sizes, lifetimes and remote frees of 389-ds, 16 workers",
    "directory.slapd": "the same of OpenLDAP",
    "grow.vector": "realloc() by 64 KiB to 64 MiB",
    "grow.strings": "1000 strings by 40 bytes to 4 KiB, one after the other",
    "grow.strings_in_turn": "the same, all of them in turn",
    "large.touch": "1000 blocks of 1 MiB, a byte of each written",
    "large.calloc": "calloc() of 1 GiB, a byte read",
    "large.pairs": "20,000 times malloc() and free() of 3 MiB",
    "large.pairs_touched": "the same, a byte written",
    "classes": "64 MiB of one size, freed; 10 sizes in turn",
    "limit": "256 MiB of address space filled by a size, freed; 9 sizes in turn",
    "program.bash": "bash -c :",
    "program.python": "python3: json.dumps() and json.loads()",
    "program.perl": "perl: strings in a hash",
}
IDLE_CASES = ("larson", "threads.8", "stress", "remote", "directory.ns-slapd", "directory.slapd",
              "classes")

# metric: its column, the divisor, and digits
Metric = collections.namedtuple("Metric", "title divisor digits")
METRICS = {
    "time": Metric("time, ms", 1e-3, 2),
    "user": Metric("user, ms", 1e-3, 1),
    "system": Metric("system, ms", 1e-3, 1),
    "faults": Metric("faults", 1, 0),
    "calls": Metric("system calls", 1, 0),
    "peak": Metric("peak, MiB", MIB, 1),
    "resident": Metric("end, MiB", MIB, 1),
    "idle": Metric("idle, MiB", MIB, 1),
    "lost": Metric("lost, MiB", MIB, 1),
}
# Below these, a ratio says nothing: differences of a few pages or of a timer.
NEGLIGIBLE = {"user": 5e-3, "system": 5e-3, "faults": 32, "calls": 8, "peak": MIB // 4,
              "resident": MIB // 4, "idle": MIB // 4}

# against: "rivals" (the best of them), a contestant, or None: `limit` is in the metric's unit.
Goal = collections.namedtuple("Goal", "case metric against limit")
CHURN = ("larson", "threads.1", "threads.8", "stress", "remote", "scratch", "thrash",
         "migrate.pinned", "migrate.moving", "directory.ns-slapd", "directory.slapd",
         "grow.vector", "grow.strings", "grow.strings_in_turn", "program.python", "program.perl")
MEMORY = ("larson", "threads.1", "threads.8", "stress", "remote", "migrate.pinned",
          "migrate.moving", "directory.ns-slapd", "directory.slapd", "program.python",
          "program.perl")
GOALS = (
    [Goal(case, "time", "rivals", 0.9 if case == "directory.ns-slapd" else 1.0) for case in CHURN]
    + [Goal(case, "peak", "rivals", 1.0) for case in MEMORY]
    + [Goal(case, "resident", "rivals", 1.0) for case in MEMORY if not case.startswith("program.")]
    + [Goal(case, "idle", "rivals", 0.6) for case in IDLE_CASES]
    + [Goal("large.touch", "peak", "glibc", 1.0),
       Goal("large.calloc", "time", "glibc", 1.0), Goal("large.calloc", "faults", "glibc", 1.0),
       Goal("large.pairs", "time", "glibc", 2.0), Goal("large.pairs", "faults", "glibc", 1.0),
       Goal("grow.vector", "time", "glibc", 1.0),
       Goal("grow.strings", "faults", "rivals", 1.2),
       Goal("classes", "resident", None, 100 * MIB),
       Goal("limit", "lost", "rivals", 1.0),
       Goal("program.bash", "time", None, 1.6e-3), Goal("program.bash", "faults", None, 250),
       Goal("program.bash", "peak", None, 4 * MIB)]
)


class Found:
    """Medians and minima by (contestant, case, metric)."""

    def __init__(self, rows, contestants, cases):
        self.contestants, self.cases = contestants, cases
        values = collections.defaultdict(list)
        for _, contestant, case, metric, value in rows:
            values[contestant, case, metric].append(value)
        self.medians = {key: statistics.median(found) for key, found in values.items()}
        self.minima = {key: min(found) for key, found in values.items()}
        self.rivals = [name for name in contestants if name in preload.RIVALS]

    def median(self, contestant, case, metric):
        return self.medians.get((contestant, case, metric))

    def best(self, case, metric, values=None):
        """(value, name) of the rival that has the least."""
        values = self.medians if values is None else values
        found = [(values[name, case, metric], name) for name in self.rivals
                 if (name, case, metric) in values]
        return min(found) if found else (None, None)

    def ratio(self, contestant, case, metric, values=None):
        """To the best rival; None when there is none, 1 when both are negligible."""
        values = self.medians if values is None else values
        ours, best = values.get((contestant, case, metric)), self.best(case, metric, values)[0]
        return None if ours is None or best is None else quotient(metric, ours, best)

    def metrics(self, case):
        return [metric for metric in METRICS
                if any((name, case, metric) in self.medians for name in self.contestants)]


def quotient(metric, ours, theirs):
    floor = NEGLIGIBLE.get(metric, 0)
    if ours <= floor and theirs <= floor:
        return 1.0
    return ours / max(theirs, floor, 1e-9)


def shown(metric, value):
    if value is None:
        return ""
    kind = METRICS[metric]
    value /= kind.divisor
    digits = kind.digits + 2 if metric == "time" and value < 1 else kind.digits
    return f"{value:,.{digits}f}"


def judge(found, goal):
    """(ours, theirs, whose, ratio) or None; the goal is met when ratio <= limit."""
    ours = found.median("slab", goal.case, goal.metric)
    if ours is None:
        return None
    if goal.against is None:
        return ours, goal.limit, "", ours / goal.limit
    if goal.against == "rivals":
        theirs, whose = found.best(goal.case, goal.metric)
    else:
        theirs, whose = found.median(goal.against, goal.case, goal.metric), goal.against
    return None if theirs is None else (ours, theirs, whose, quotient(goal.metric, ours, theirs))


def judged(found):
    """[(goal, ours, theirs, whose, ratio, met)]"""
    lines = []
    for goal in GOALS:
        values = judge(found, goal)
        if values:
            lines.append((goal, *values, values[-1] <= (goal.limit if goal.against else 1.0)))
    return lines


def goals_table(found):
    lines = ["| case | | slab | | against | ratio | goal | |",
             "|---|---|---:|---|---:|---:|---:|---|"]
    for goal, ours, theirs, whose, ratio, met in judged(found):
        limit = f"{goal.limit:.2f}" if goal.against else "1.00"
        lines.append(f"| {goal.case} | {METRICS[goal.metric].title} | {shown(goal.metric, ours)} "
                     f"| {whose} | {shown(goal.metric, theirs)} | {ratio:.2f} | ≤ {limit} "
                     f"| {'met' if met else '**missed**'} |")
    return lines if len(lines) > 2 else []


def case_table(found, case):
    metrics = found.metrics(case)
    if not metrics:
        return []
    lines = ["", f"### {case}: {TITLES.get(case, '')}", "",
             "| | " + " | ".join(METRICS[m].title for m in metrics) + " | time / best rival |",
             "|---" + "|---:" * (len(metrics) + 1) + "|"]
    for name in found.contestants:
        cells = []
        for metric in metrics:
            cell = shown(metric, found.median(name, case, metric))
            if metric == "time" and cell:
                cell += f" ({shown(metric, found.minima[name, case, metric])})"
            cells.append(cell)
        ratio = found.ratio(name, case, "time")
        least = found.ratio(name, case, "time", found.minima)
        cells.append("" if ratio is None else f"{ratio:.2f} ({least:.2f})")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    if "slab" not in found.contestants:
        return lines
    cells = [f"{ratio:.2f} {found.best(case, m)[1]}" if ratio is not None else ""
             for m in metrics for ratio in [found.ratio("slab", case, m)]]
    return lines + ["| slab / best rival | " + " | ".join(cells) + " | |"]


def markdown(found, head, rounds):
    out = ["# malloc: libslab in the place of malloc", ""]
    out += [f"- {line}" for line in head]
    of = f"Medians of {rounds} processes, minima" if rounds > 1 else "One process each; minima"
    out += ["", f"{of} in brackets. The work of a case is the same for "
            "all. Peak is the most that was resident at once, end what is resident when all has been freed, "
            "idle that after the idle time; anonymous memory, but for programs all of theirs. System "
            "calls are counted once. benchmarks/malloc/README.md says what each case does."]
    goals = goals_table(found)
    if goals:
        out += ["", "## Goals", ""] + goals
    out += ["", "## All cases"]
    for case in found.cases:
        out += case_table(found, case)
    return "\n".join(out) + "\n"


def summary(found):
    """The goals in short, for the terminal."""
    lines = judged(found)
    out = []
    for goal, ours, theirs, whose, ratio, met in lines:
        against = f"{whose} {shown(goal.metric, theirs)}" if whose else f"at most {shown(goal.metric, theirs)}"
        out.append(f"{goal.case:<21} {METRICS[goal.metric].title:<13} {shown(goal.metric, ours):>10}  "
                   f"{against:<22} {ratio:7.2f}  {'met' if met else 'MISSED'}")
    met = sum(line[-1] for line in lines)
    return "\n".join(out + [f"{met} of {len(lines)} goals met"]) if lines else "no goal was judged"
