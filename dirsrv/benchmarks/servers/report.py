# SPDX-License-Identifier: MIT
"""From runs to medians, ratios and the goals they are held against."""
import collections
import statistics

import preload

MIB = 1 << 20
# file: of the results. goals: list of Goal. svg: function that draws the chart.
Mode = collections.namedtuple("Mode", "file title goals svg")
# how: "ratio" of ours to the best rival, "difference" from it, or our "value" alone
Goal = collections.namedtuple("Goal", "metric limit ours rivals how", defaults=("ratio",))
# metric: its column, the divisor, and digits
Metric = collections.namedtuple("Metric", "title divisor digits")
METRICS = {
    "time": Metric("op/s", 1, 0),  # the inverse is shown
    "cpu": Metric("CPU, µs/op", 1e-6, 1),
    "share": Metric("allocator, % of CPU", 0.01, 2),
    "p50": Metric("p50, µs", 1e-6, 0),
    "p90": Metric("p90, µs", 1e-6, 0),
    "p99": Metric("p99, µs", 1e-6, 0),
    "max": Metric("max, ms", 1e-3, 1),
    "faults": Metric("faults", 1, 0),
    "start": Metric("start, MiB", MIB, 1),
    "peak": Metric("peak, MiB", MIB, 1),
    "end": Metric("end, MiB", MIB, 1),
    "idle": Metric("idle, MiB", MIB, 1),
    "growth": Metric("second half, %", 1, 2),
}
# Of libslab in malloc's place; growth is in per cent.
LIMITS = {"time": 1.0, "cpu": 1.0, "start": 1.0, "peak": 1.0, "end": 1.0, "idle": 0.6,
          "growth": 1.0}
GOALS = [Goal(metric, limit, "slab", preload.RIVALS, "value" if metric == "growth" else "ratio")
         for metric, limit in LIMITS.items()]


class Found:
    """Medians over rounds by (server, contestant, metric)."""

    def __init__(self, runs, contestants, mode):
        self.runs, self.contestants, self.mode = runs, contestants, mode
        self.servers = list(dict.fromkeys(run.server.name for run in runs))
        values = collections.defaultdict(list)
        for run in runs:
            for metric, value in run.found.items():
                values[run.server.name, run.contestant.name, metric].append(value)
        self.medians = {key: statistics.median(found) for key, found in values.items()}
        self.metrics = [metric for metric in METRICS if any(key[2] == metric for key in values)]

    def median(self, server, contestant, metric):
        return self.medians.get((server, contestant, metric))

    def best(self, server, goal):
        """(value, name) of the goal's rival that has the least."""
        found = [(self.medians[server, name, goal.metric], name) for name in goal.rivals
                 if (server, name, goal.metric) in self.medians]
        return min(found) if found else (None, None)

    def by_operation(self, server):
        """Kinds of operations whose 99th percentile is known."""
        return sorted({metric[:-4] for name, _, metric in self.medians
                       if name == server and metric.endswith(".p99")})


def shown(metric, value):
    if value is None:
        return ""
    if metric == "time":
        return f"{1 / value:,.0f}"
    kind = METRICS[metric]
    return f"{value / kind.divisor:,.{kind.digits}f}"


def held_against(goal, ours, theirs):
    """What the limit of a goal is for; None: there is no rival."""
    if goal.how == "value":
        return ours
    if not theirs:
        return None
    return ours - theirs if goal.how == "difference" else ours / theirs


def judged(found):
    """[(server, goal, ours, theirs, whose, value, met)]"""
    lines = []
    for server in found.servers:
        for goal in found.mode.goals:
            ours = found.median(server, goal.ours, goal.metric)
            theirs, whose = found.best(server, goal)
            value = None if ours is None else held_against(goal, ours, theirs)
            if value is not None:
                lines.append((server, goal, ours, theirs, whose, value, value <= goal.limit))
    return lines


def compared(goal, value):
    """A value as the goal wants it, and its limit."""
    if goal.how == "difference":
        return tuple(f"{sign}{shown(goal.metric, v)}" for sign, v in (("+", value), ("≤ +", goal.limit)))
    return f"{value:.2f}", f"≤ {goal.limit:.2f}"


def goals_table(found):
    lines = [f"| server | | {found.mode.goals[0].ours} | best rival | | ratio | goal | |",
             "|---|---|---:|---|---:|---:|---:|---|"]
    for server, goal, ours, theirs, whose, value, met in judged(found):
        name = "" if goal.ours == found.mode.goals[0].ours else f" ({goal.ours})"
        value, limit = compared(goal, value)
        lines.append(f"| {server} | {METRICS[goal.metric].title}{name} | {shown(goal.metric, ours)} "
                     f"| {whose or ''} | {shown(goal.metric, theirs)} | {value} | {limit} "
                     f"| {'met' if met else '**missed**'} |")
    return lines if len(lines) > 2 else []


def server_table(found, server):
    lines = ["", f"## {server}", "",
             "| | " + " | ".join(METRICS[metric].title for metric in found.metrics) + " |",
             "|---" + "|---:" * len(found.metrics) + "|"]
    for name in found.contestants:
        cells = [shown(metric, found.median(server, name, metric)) for metric in found.metrics]
        if any(cells):
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines + latency_table(found, server)


def latency_table(found, server):
    """The 99th percentile of each kind of operation."""
    kinds = found.by_operation(server)
    if not kinds:
        return []
    lines = ["", "99th percentile of each operation, µs:", "", "| | " + " | ".join(kinds) + " |",
             "|---" + "|---:" * len(kinds) + "|"]
    for name in found.contestants:
        values = [found.median(server, name, f"{kind}.p99") for kind in kinds]
        if any(value is not None for value in values):
            lines.append(f"| {name} | " + " | ".join("" if v is None else f"{v * 1e6:,.0f}"
                                                     for v in values) + " |")
    return lines


def markdown(found, head, rounds):
    out = [f"# {found.mode.title}", ""]
    out += [f"- {line}" for line in head]
    of = f"Medians of {rounds} processes" if rounds > 1 else "One process each"
    out += ["", f"{of}. Memory is anonymous memory of the server. dirsrv/benchmarks/servers/README.md says "
            "what is measured."]
    goals = goals_table(found)
    if goals:
        out += ["", "## Goals", ""] + goals
    for server in found.servers:
        out += server_table(found, server)
    return "\n".join(out) + "\n"


def summary(found):
    """The goals in short, for the terminal."""
    lines = judged(found)
    out = []
    for server, goal, ours, theirs, whose, value, met in lines:
        value, limit = compared(goal, value)
        out.append(f"{server:<9} {METRICS[goal.metric].title:<15} {shown(goal.metric, ours):>10}  "
                   f"{whose or '':<9} {shown(goal.metric, theirs):>10}  {value:>6} {limit}  "
                   f"{'met' if met else 'MISSED'}")
    met = sum(line[-1] for line in lines)
    return "\n".join(out + [f"{met} of {len(lines)} goals met"]) if lines else "no goal was judged"
