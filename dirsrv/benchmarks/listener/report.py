# SPDX-License-Identifier: MIT
"""From runs to medians, the seed's table, that of the allocators, and the goals."""
import collections
import statistics

import cases
import contestants

MIB = 1 << 20
# A ratio of two (server, case, metric), and its limit. higher: the ratio must be at least the limit.
Goal = collections.namedtuple("Goal", "text above below limit higher")

GOALS = [
    Goal("handoff to inline", ("handoff", "busy", "rate"), ("inline", "busy", "rate"), 1.0, True),
    Goal("handoff to inline, idle connections", ("handoff", "idle", "rate"),
         ("inline", "idle", "rate"), 1.3, True),
    Goal("handoff with idle connections to without", ("handoff", "idle", "rate"),
         ("handoff", "busy", "rate"), 0.97, True),
    Goal("inline with stalls to without", ("inline", "stall", "rate"), ("inline", "short", "rate"),
         0.1, False),
    Goal("handoff with stalls to without", ("handoff", "stall", "rate"),
         ("handoff", "short", "rate"), 0.9, True),
    Goal("accepts: accept thread to handoff", ("accept-thread", "accept", "rate"),
         ("handoff", "accept", "rate"), 5.0, True),
]
OTHER_FORMS = tuple(form for form in contestants.FORMS if form != "multi")
# Against the best of several: text, ours, case, metric, the others, whether higher is better.
BEST_GOALS = [
    ("accepts", "multi", "accept", "rate", OTHER_FORMS, True),
    ("op/s", "multi", "busy", "rate", contestants.RIVALS, True),
    ("p99", "multi", "busy", "p99", contestants.RIVALS, False),
    ("mix, op/s", contestants.OURS, "mix", "rate", contestants.ALLOCATORS, True),
    ("mix, memory at the end of the load", contestants.OURS, "mix", "end", contestants.ALLOCATORS,
     False),
    ("mix, memory 15 s after", contestants.OURS, "mix", "after", contestants.ALLOCATORS, False),
]
OWN_GOALS = [
    Goal("slab: memory 15 s after to that at the end", (contestants.OURS, "mix", "after"),
         (contestants.OURS, "mix", "end"), 1.0, False),
    Goal("share of CPU in the allocator: slab to glibc", (contestants.OURS, "share", "share"),
         ("glibc", "share", "share"), 0.5, False),
]
# ratio: the median of the rounds; least, most: of them.
Judged = collections.namedtuple("Judged", "text ratio least most limit higher met")


class Found:
    """Medians and minima over rounds by (server, case, metric)."""

    def __init__(self, runs, able, settings):
        self.runs, self.settings = runs, settings
        self.names = {kind: [server.name for server in able if server.compares == kind]
                      for kind in (cases.LISTENERS, cases.ALLOCATORS)}
        self.values = collections.defaultdict(dict)
        for run in runs:
            for (case, metric), value in run.found.items():
                self.values[run.server.name, case, metric][run.turn] = value

    def cases(self, kind):
        return [name for name in self.settings.cases if cases.CASES[name].compares == kind]

    def of(self, name, case, metric):
        """{round: value}"""
        return self.values.get((name, case, metric), {})

    def median(self, name, case, metric):
        values = self.of(name, case, metric).values()
        return statistics.median(values) if values else None

    def least(self, name, case, metric):
        return min(self.of(name, case, metric).values(), default=None)

    def ratios(self, above, below):
        """Of two (server, case, metric), one for each round that has both."""
        over, under = self.of(*above), self.of(*below)
        return [over[turn] / under[turn] for turn in sorted(over.keys() & under.keys())
                if under[turn]]

    def idle_bytes(self, name):
        """Resident bytes of an idle connection."""
        with_idle = self.median(name, "idle", "resident")
        without = self.median(name, "busy", "resident")
        if with_idle is None or without is None:
            return None
        return (with_idle - without) / self.settings.idle


def judge(found, goal):
    ratios = found.ratios(goal.above, goal.below)
    if not ratios:
        return None
    ratio = statistics.median(ratios)
    return Judged(goal.text, ratio, min(ratios), max(ratios), goal.limit, goal.higher,
                  ratio >= goal.limit if goal.higher else ratio <= goal.limit)


def best_goals(found):
    out = []
    for text, ours, case, metric, names, higher in BEST_GOALS:
        theirs = [(found.median(name, case, metric), name) for name in names
                  if found.of(name, case, metric)]
        if theirs:
            name = (max(theirs) if higher else min(theirs))[1]
            out.append(Goal(f"{text}: {ours} to {name}", (ours, case, metric), (name, case, metric),
                            1.0, higher))
    return out


def judged(found):
    if found.settings.quick:
        return []
    lines = [judge(found, goal) for goal in GOALS + best_goals(found) + OWN_GOALS]
    return [line for line in lines if line]


def number(value, digits=0):
    return "" if value is None else f"{value:,.{digits}f}"


def rate_cell(found, name, case):
    """The median; behind it the least of several rounds."""
    median, least = found.median(name, case, "rate"), found.least(name, case, "rate")
    if median is None:
        return ""
    return number(median) if found.settings.rounds == 1 else f"{number(median)} ({number(least)})"


def seed_cell(case):
    return " / ".join(f"{number(value)} {name}" for name, value in cases.SEED.get(case, {}).items())


def table(found, title, cell, wanted, seed=False):
    names = found.names[cases.LISTENERS]
    head = [""] + names + (["ITS#3835, 2005"] if seed else [])
    lines = ["", f"## {title}", "", "| " + " | ".join(head) + " |",
             "|---" + "|---:" * (len(head) - 1) + "|"]
    for case in wanted:
        row = [cases.title(case, found.settings.connections, found.settings.idle)]
        row += [cell(name, case) for name in names]
        row += [seed_cell(case)] if seed else []
        lines.append("| " + " | ".join(row) + " |")
    return lines


# Of the mix: title, case, metric, divisor, digits.
COLUMNS = [
    ("op/s", "mix", "rate", 1, 0),
    ("p50, µs", "mix", "p50", 1, 0),
    ("p99, µs", "mix", "p99", 1, 0),
    ("CPU, µs/op", "mix", "cpu", 1, 1),
    ("start, MiB", "mix", "start", MIB, 1),
    ("peak, MiB", "mix", "peak", MIB, 1),
    ("end, MiB", "mix", "end", MIB, 1),
    ("15 s after, MiB", "mix", "after", MIB, 1),
    ("allocator, % of CPU", "share", "share", 0.01, 1),
]


def allocators_table(found):
    if not found.cases(cases.ALLOCATORS):
        return []
    lines = ["", "## The same server on other allocators", "",
             "| | " + " | ".join(column[0] for column in COLUMNS) + " |",
             "|---" + "|---:" * len(COLUMNS) + "|"]
    for name in found.names[cases.ALLOCATORS]:
        cells = []
        for _, case, metric, divisor, digits in COLUMNS:
            value = found.median(name, case, metric)
            cells.append("" if value is None else number(value / divisor, digits))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def goals_table(found):
    lines = judged(found)
    if not lines:
        return []
    out = ["", "## Goals", "", "| | ratio | least | most | goal | |", "|---|---:|---:|---:|---:|---|"]
    for line in lines:
        out.append(f"| {line.text} | {line.ratio:.2f} | {line.least:.2f} | {line.most:.2f} "
                   f"| {'≥' if line.higher else '≤'} {line.limit:g} "
                   f"| {'met' if line.met else '**missed**'} |")
    return out


def listeners_tables(found):
    wanted = found.cases(cases.LISTENERS)
    if not wanted:
        return []
    out = table(found, "Operations or connections a second",
                lambda name, case: rate_cell(found, name, case), wanted, seed=True)
    for metric, digits, title in (("p50", 0, "Median latency, µs"),
                                  ("p99", 0, "99th percentile of latency, µs"),
                                  ("cpu", 1, "CPU time of the server, µs per operation")):
        out += table(found, title, lambda name, case, m=metric, d=digits:
                     number(found.median(name, case, m), d), wanted)
    if "busy" in wanted and "idle" in wanted:
        out += ["", "## Resident bytes of an idle connection", ""]
        out += [f"- {name}: {number(found.idle_bytes(name))}" for name in found.names[cases.LISTENERS]
                if found.idle_bytes(name) is not None]
    return out


def markdown(found, head):
    settings = found.settings
    of = (f"Medians of {settings.rounds} processes, in parentheses the least" if settings.rounds > 1
          else "One process each")
    out = ["# Listener: the table of ITS#3835, and ldapd on other allocators", ""]
    out += [f"- {line}" for line in head]
    out += ["", f"{of}; {settings.seconds} s for each case, {cases.CASES['mix'].longer} times that for "
            "the mix. dirsrv/benchmarks/listener/README.md says what is measured. A ratio compares two "
            "measurements of the same round."]
    out += goals_table(found) + listeners_tables(found) + allocators_table(found)
    return "\n".join(out) + "\n"


def rates(found, kind):
    """The rates in short: a line for each case, a column for each server."""
    names, wanted = found.names[kind], found.cases(kind)
    if not wanted:
        return []
    width = max(max(len(name) for name in names) + 2, 10)
    out = [" " * 8 + "".join(f"{name:>{width}}" for name in names)]
    for case in wanted:
        out.append(f"{case:<8}" + "".join(f"{number(found.median(name, case, 'rate')):>{width}}"
                                          for name in names))
    return out


def summary(found):
    """The rates and the goals in short, for the terminal."""
    out = rates(found, cases.LISTENERS) + rates(found, cases.ALLOCATORS)
    lines = judged(found)
    out += [f"{line.text:<50} {line.ratio:6.2f} {'≥' if line.higher else '≤'} {line.limit:<5g} "
            f"{'met' if line.met else 'MISSED'}" for line in lines]
    if lines:
        out.append(f"{sum(line.met for line in lines)} of {len(lines)} goals met")
    return "\n".join(out)
