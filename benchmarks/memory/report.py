# SPDX-License-Identifier: MIT
"""From samples and marks to tables and the goals they are held against."""
import collections
import statistics

MIB = 1 << 20
RIVALS = ("glibc", "jemalloc", "tcmalloc", "mimalloc")
OURS = ("slab", "slab-movable")
HOURS = 24
OBJECT_BYTES = 240             # of the rcu cases
MAY_WAIT = 16 * MIB            # bytes of objects, see <slab/rcu.h>
WAIT_SLACK = 1.25              # the backlog is looked at now and then
IDLE_LIMITS = {"slab": 0.7, "slab-movable": 0.3}

PEAK_TITLES = {
    "entries": "entries of a directory, freed as a whole",
    "objects": "the same objects, each freed by itself",
    "64": "64 bytes alone", "240": "240 bytes alone", "712": "712 bytes alone",
    "2112": "2112 bytes alone",
}
RCU_TITLES = {
    "free": "slab_free()", "rcu": "slab_free_rcu() outside of sections",
    "section": "slab_free_rcu() within sections of 16 frees",
    "queue": "slab_free(), 17476 objects later",
}

# One goal: met when value <= limit. `text` says what value and limit are; both are ratios,
# or per cent of growth.
Goal = collections.namedtuple("Goal", "case contestant text value limit per_cent", defaults=(False,))
MAY_GROW = 1.0  # per cent


def growth(values):
    """Per cent by which a straight line through them, a step apart, grows from end to end."""
    n = len(values)
    if n < 3:
        return 0.0
    middle, mean = (n - 1) / 2, statistics.fmean(values)
    spread = sum((i - middle) ** 2 for i in range(n))
    slope = sum((i - middle) * (value - mean) for i, value in enumerate(values)) / spread
    return slope * n / mean * 100 if mean else 0.0


class Day:
    """One run of churn: the means of its hours, its growth, and how long it took."""

    def __init__(self, run):
        ends = [run.marks["start"][0]] + [run.marks[f"hour {h}"][0] for h in range(1, HOURS + 1)]
        samples = sorted(run.samples)
        self.hours = [self.mean(samples, a, b) for a, b in zip(ends, ends[1:])]
        # Of the hours: each has its own ups and downs.
        self.growth = growth(self.hours[HOURS // 2:])
        whole = [value for t, value in samples if ends[0] <= t <= ends[HOURS]]
        self.mean_bytes, self.max = statistics.fmean(whole), max(whole)
        self.took = run.marks["end"][0] - ends[0]

    @staticmethod
    def mean(samples, begin, end):
        """Of an hour; of the sample before it when it was too short for one."""
        values = [value for t, value in samples if begin < t <= end]
        before = [value for t, value in samples if t <= end]
        return statistics.fmean(values) if values else before[-1]


class Found:
    """Runs by case and contestant, and medians over rounds."""

    def __init__(self, runs, contestants):
        self.contestants = contestants
        self.runs = collections.defaultdict(list)
        for run in runs:
            self.runs[run.case, run.contestant].append(run)
        self.days = {name: [Day(run) for run in self.runs["churn", name]] for name in contestants
                     if self.runs["churn", name]}

    def peak_cases(self):
        return [what for what in PEAK_TITLES
                if any(self.runs[f"peak.{what}", name] for name in self.contestants)]

    def names(self, case):
        return [name for name in self.contestants if self.runs[case, name]]

    def at(self, case, name, mark):
        """Resident bytes at a mark."""
        values = [run.marks[mark][1] for run in self.runs[case, name]]
        return statistics.median(values) if values else None

    def best_idle(self, case):
        found = [(self.at(case, name, "after"), name) for name in RIVALS if self.runs[case, name]]
        return min(found) if found else (None, None)

    def day(self, name, member):
        return statistics.median(getattr(day, member) for day in self.days[name])

    def hours(self, name):
        return [statistics.median(day.hours[h] for day in self.days[name]) for h in range(HOURS)]

    def best_day(self):
        """The rival that has the least over the day."""
        found = [(self.day(name, "mean_bytes"), name) for name in RIVALS if name in self.days]
        return min(found)[1] if found else None

    def rate(self, way):
        rates = [run.rate for run in self.runs[f"rcu.{way}", "slab"]]
        return statistics.median(rates) if rates else None

    def waited(self, way):
        return max((n for run in self.runs[f"rcu.{way}", "slab"] for _, n in run.waiting),
                   default=0)

    def rcu_growth(self, way):
        grown = []
        for run in self.runs[f"rcu.{way}", "slab"]:
            values = [value for _, value in sorted(run.samples)]
            grown.append(growth(values[len(values) // 2:]))
        return statistics.median(grown) if grown else None


# ---- goals ----

def peak_goals(found):
    for what in found.peak_cases():
        case = f"peak.{what}"
        best, whose = found.best_idle(case)
        for name in OURS:
            if best and found.runs[case, name]:
                ours = found.at(case, name, "after")
                yield Goal(case, name, f"{ours / MIB:.1f} of {whose}'s {best / MIB:.1f} MiB, idle",
                           ours / best, IDLE_LIMITS[name])


def growth_goal(case, name, grown):
    text = f"grows by {grown:+.2f} % in the second half"
    return Goal(case, name, text, grown, MAY_GROW, True)


def churn_goals(found):
    best = found.best_day()
    for name in OURS:
        if name not in found.days:
            continue
        grown = found.day(name, "growth")
        yield growth_goal("churn", name, grown)
        if best:
            worst = max(a / b for a, b in zip(found.hours(name), found.hours(best)))
            yield Goal("churn", name, f"in its worst hour {worst:.2f} of {best}", worst, 1.0)
            most, theirs = found.day(name, "max"), found.day(best, "max")
            yield Goal("churn", name, f"at most {mib(most)}, {best} {mib(theirs)} MiB",
                       most / theirs, 1.0)


def rcu_goals(found):
    free = found.rate("free")
    for way in ("rcu", "section"):
        rate, waited = found.rate(way), found.waited(way)
        if not rate or not free:
            continue
        case = f"rcu.{way}"
        yield Goal(case, "slab", f"{rate / 1e6:.1f} million a second, {free / 1e6:.1f} with "
                   "slab_free()", free / rate, 2.0)
        most = MAY_WAIT * WAIT_SLACK / OBJECT_BYTES
        yield Goal(case, "slab", f"at most {waited} of {most:.0f} objects wait", waited / most, 1.0)
        yield growth_goal(case, "slab", found.rcu_growth(way))


def goals(found):
    return list(peak_goals(found)) + list(churn_goals(found)) + list(rcu_goals(found))


def verdict(goal):
    if goal.value <= goal.limit:
        return "met"
    if goal.per_cent:
        return f"missed by {goal.value - goal.limit:.1f} points"
    return f"missed by {(goal.value / goal.limit - 1) * 100:.0f} %"


# ---- tables ----

def mib(value):
    return f"{value / MIB:.1f}"


def peak_table(found, what):
    case = f"peak.{what}"
    best = found.best_idle(case)[0]
    live = next((int(run.numbers["live"]) for name in found.names(case)
                 for run in found.runs[case, name]), 0)
    lines = ["", f"### {case}: {PEAK_TITLES[what]}", "",
             f"In use after the frees: {mib(live)} MiB.", "",
             "| | peak | freed | idle | idle / in use | idle / best rival |",
             "|---|---:|---:|---:|---:|---:|"]
    for name in found.names(case):
        peak, freed, after = (found.at(case, name, mark) for mark in ("peak", "freed", "after"))
        ratio = f"{after / best:.2f}" if best else ""
        lines.append(f"| {name} | {mib(peak)} | {mib(freed)} | {mib(after)} "
                     f"| {after / live:.2f} | {ratio} |")
    return lines


def churn_table(found):
    lines = ["", "### churn: a day of a directory server", "",
             "| | mean | most | hour 1 | hour 12 | hour 24 | second half | took |",
             "|---|---:|---:|---:|---:|---:|---:|---:|"]
    for name in found.days:
        hours = found.hours(name)
        lines.append(f"| {name} | {mib(found.day(name, 'mean_bytes'))} "
                     f"| {mib(found.day(name, 'max'))} | {mib(hours[0])} | {mib(hours[11])} "
                     f"| {mib(hours[23])} | {found.day(name, 'growth'):+.2f} % "
                     f"| {found.day(name, 'took'):.0f} s |")
    return lines


def rcu_table(found):
    lines = ["", f"### rcu: two producers, {OBJECT_BYTES} bytes", "",
             "| | million a second | of slab_free() | waited at most | resident at the end "
             "| second half |", "|---|---:|---:|---:|---:|---:|"]
    free = found.rate("free")
    for way, title in RCU_TITLES.items():
        rate = found.rate(way)
        if rate:
            lines.append(f"| {title} | {rate / 1e6:.1f} | {rate / free if free else 0:.2f} "
                         f"| {found.waited(way)} | {mib(found.at(f'rcu.{way}', 'slab', 'end'))} "
                         f"| {found.rcu_growth(way):+.2f} % |")
    return lines if len(lines) > 5 else []


def markdown(found, head, rounds):
    out = ["# Memory: libslab against malloc", ""]
    out += [f"- {line}" for line in head]
    of = f"Medians of {rounds} processes" if rounds > 1 else "One process each"
    out += ["", "MiB resident: anonymous memory of the whole process, read from outside. "
            f"{of}. Rivals are " + ", ".join(RIVALS) + ", as Debian builds them and with their "
            "defaults. benchmarks/memory/README.md says what each case does.",
            "", "## Goals", "", "| case | | | ratio or % | goal | |", "|---|---|---|---:|---:|---|"]
    for goal in goals(found):
        said = verdict(goal)
        out.append(f"| {goal.case} | {goal.contestant} | {goal.text} | {goal.value:.2f} "
                   f"| ≤ {goal.limit:.2f} | {said if said == 'met' else f'**{said}**'} |")
    out += ["", "## All cases"]
    for what in found.peak_cases():
        out += peak_table(found, what)
    if found.days:
        out += churn_table(found)
    return "\n".join(out + rcu_table(found)) + "\n"


def summary(found):
    """The goals in short, for the terminal."""
    held = goals(found)
    lines = [f"{goal.case:<13} {goal.contestant:<13} {goal.text:<58} {goal.value:6.2f} "
             f"≤ {goal.limit:.2f}  {verdict(goal)}" for goal in held]
    met = sum(goal.value <= goal.limit for goal in held)
    return "\n".join(lines + [f"{met} of {len(held)} goals met"]) if held else "no goal was judged"
