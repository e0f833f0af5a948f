# SPDX-License-Identifier: MIT
"""From runs to medians, ratios and the goals they are held against."""
import collections
import statistics

import preload

MIB = 1 << 20
# metric: its column, the divisor, and digits
Metric = collections.namedtuple("Metric", "title divisor digits")
METRICS = {
    "time": Metric("op/s", 1, 0),  # the inverse is shown
    "cpu": Metric("CPU, µs/op", 1e-6, 1),
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
# Ours over the best rival's; growth is in per cent.
LIMITS = {"time": 1.0, "cpu": 1.0, "start": 1.0, "peak": 1.0, "end": 1.0, "idle": 0.6,
          "growth": 1.0}


class Found:
    """Medians over rounds by (server, contestant, metric)."""

    def __init__(self, runs, contestants):
        self.runs, self.contestants = runs, contestants
        self.servers = list(dict.fromkeys(run.server.name for run in runs))
        values = collections.defaultdict(list)
        for run in runs:
            for metric, value in run.found.items():
                values[run.server.name, run.contestant.name, metric].append(value)
        self.medians = {key: statistics.median(found) for key, found in values.items()}
        self.rivals = [name for name in contestants if name in preload.RIVALS]

    def median(self, server, contestant, metric):
        return self.medians.get((server, contestant, metric))

    def best(self, server, metric):
        """(value, name) of the rival that has the least."""
        found = [(self.medians[server, name, metric], name) for name in self.rivals
                 if (server, name, metric) in self.medians]
        return min(found) if found else (None, None)

    def ratio(self, server, metric):
        ours, best = self.median(server, "slab", metric), self.best(server, metric)[0]
        return ours / best if ours is not None and best else None

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


def judged(found):
    """[(server, metric, ours, theirs, whose, value, limit, met)]"""
    lines = []
    for server in found.servers:
        for metric, limit in LIMITS.items():
            ours = found.median(server, "slab", metric)
            theirs, whose = found.best(server, metric)
            if ours is None or (theirs is None and metric != "growth"):
                continue
            value = ours if metric == "growth" else found.ratio(server, metric)
            if value is not None:
                lines.append((server, metric, ours, theirs, whose, value, limit, value <= limit))
    return lines


def goals_table(found):
    lines = ["| server | | slab | best rival | | ratio | goal | |",
             "|---|---|---:|---|---:|---:|---:|---|"]
    for server, metric, ours, theirs, whose, value, limit, met in judged(found):
        lines.append(f"| {server} | {METRICS[metric].title} | {shown(metric, ours)} "
                     f"| {whose or ''} | {shown(metric, theirs)} | {value:.2f} | ≤ {limit:.2f} "
                     f"| {'met' if met else '**missed**'} |")
    return lines if len(lines) > 2 else []


def server_table(found, server):
    lines = ["", f"## {server}", "",
             "| | " + " | ".join(metric.title for metric in METRICS.values()) + " |",
             "|---" + "|---:" * len(METRICS) + "|"]
    for name in found.contestants:
        cells = [shown(metric, found.median(server, name, metric)) for metric in METRICS]
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
    out = ["# Servers: libslab in the place of malloc", ""]
    out += [f"- {line}" for line in head]
    of = f"Medians of {rounds} processes" if rounds > 1 else "One process each"
    out += ["", f"{of}. Memory is anonymous memory of the server. benchmarks/servers/README.md says "
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
    out = [f"{server:<9} {METRICS[metric].title:<15} {shown(metric, ours):>10}  "
           f"{whose or '':<9} {shown(metric, theirs):>10}  {value:6.2f} ≤ {limit:.2f}  "
           f"{'met' if met else 'MISSED'}"
           for server, metric, ours, theirs, whose, value, limit, met in lines]
    met = sum(line[-1] for line in lines)
    return "\n".join(out + [f"{met} of {len(lines)} goals met"]) if lines else "no goal was judged"
