# SPDX-License-Identifier: MIT
"""From samples and marks to tables and the goals they are held against."""
import collections
import statistics

from bench import growth

KIB, MIB = 1 << 10, 1 << 20
RIVALS = ("glibc", "jemalloc", "tcmalloc", "mimalloc")
OURS = ("slab", "slab-movable")
HOURS = 24
POINTS = 10                    # of a load: its minutes when it takes ten
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

SMALL_TITLES = {"caches": "20 types, one object each", "classes": "one object of every size"}

# One goal: met when value <= limit. `text` says what value and limit are: ratios, per cent,
# MiB or microseconds.
Goal = collections.namedtuple("Goal", "case contestant text value limit per_cent", defaults=(False,))
MAY_GROW = 1.0     # per cent
MAY_LOSE = 15.0    # per cent of slabs, at the end of a load
MAY_TAKE_MIB = 1.0 # 20 types, one object each
FIRST_US = 50.0    # the first slab_malloc()
FURTHER_US = 5.0   # the first object of each further size


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


def at_time(series, t):
    """The last value until then; the first one when there is none."""
    return next((value for s, value in reversed(series) if s <= t), series[0][1])


class Load:
    """One run of directory: from the beginning of its load, what was there at each point."""

    def __init__(self, run):
        begin, self.seconds, self.rate = run.marks["Loaded"][0], run.load_s, run.rate
        self.samples = self.since(begin, sorted(run.samples))
        self.points = [self.seconds * (i + 1) / POINTS for i in range(POINTS)]
        self.at = [at_time(self.samples, t) for t in self.points]
        self.max = max(value for _, value in self.samples)
        self.growth = growth([value for t, value in self.samples if t > self.seconds / 2])
        self.slabs = {name: self.since(begin, points) for name, points in run.series.items()}

    def since(self, begin, series):
        return [(t - begin, value) for t, value in series if 0 <= t - begin <= self.seconds]

    def slabs_at(self, name, point):
        return at_time(self.slabs[name], self.points[point])

    def loss(self, point):
        """Per cent of the slabs' bytes that are not in use by objects."""
        slabs = self.slabs_at("slabs", point)
        return (1 - self.slabs_at("objects in use", point) / slabs) * 100 if slabs else 0.0


class Small:
    """All processes of small of a contestant: medians over processes."""

    def __init__(self, runs):
        self.caches, self.classes = runs["caches"], runs["classes"]
        times = {name: statistics.median(run.series[name][0][1] / 1000 for run in self.classes)
                 for name in self.classes[0].series}
        self.first, *further = times.values()
        self.median_us, self.max_us = statistics.median(further), max(further)
        self.slowest = max(list(times)[1:], key=times.get).removeprefix("first of ")

    def start(self):
        return statistics.median(run.marks["start"][1] for run in self.caches + self.classes)

    @staticmethod
    def above(runs):
        return statistics.median(run.marks["end"][1] - run.marks["start"][1] for run in runs)


class Found:
    """Runs by case and contestant, and medians over rounds."""

    def __init__(self, runs, contestants):
        self.contestants = contestants
        self.runs = collections.defaultdict(list)
        for run in runs:
            self.runs[run.case, run.contestant].append(run)
        self.days = {name: [Day(run) for run in self.runs["churn", name]] for name in contestants
                     if self.runs["churn", name]}
        self.loads = {name: [Load(run) for run in self.runs["directory", name]]
                      for name in contestants if self.runs["directory", name]}
        small = {name: {what: self.runs[f"small.{what}", name] for what in SMALL_TITLES}
                 for name in contestants}
        self.small = {name: Small(runs) for name, runs in small.items() if all(runs.values())}

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

    def load(self, name, member):
        return statistics.median(getattr(load, member) for load in self.loads[name])

    def load_at(self, name):
        """Resident bytes at each point."""
        return [statistics.median(load.at[i] for load in self.loads[name]) for i in range(POINTS)]

    def best_load(self):
        """At each point the rival that has the least then, [(bytes, name)]; [] without rivals."""
        rivals = [(self.load_at(name), name) for name in RIVALS if name in self.loads]
        return [min((at[i], name) for at, name in rivals) for i in range(POINTS)] if rivals else []

    def at_points(self, value):
        """Medians of value(load, point), of libslab's loads; [] when it was not there."""
        loads = [load for load in self.loads.get("slab", []) if load.slabs.get("slabs")]
        return [statistics.median(value(load, i) for load in loads)
                for i in range(POINTS) if loads]

    def load_slabs(self, name):
        return self.at_points(lambda load, i: load.slabs_at(name, i))

    def loss(self):
        return self.at_points(Load.loss)

    def rate(self, way):
        rates = [run.rate for run in self.runs[f"rcu.{way}", "slab"]]
        return statistics.median(rates) if rates else None

    def waited(self, way):
        return max((n for run in self.runs[f"rcu.{way}", "slab"] for _, n in run.series["waiting"]),
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


def load_points(found):
    """What the points are called: minutes, or the seconds of a short load."""
    points = next(iter(found.loads.values()))[0].points
    if all(t % 60 == 0 for t in points):
        return [f"{t / 60:.0f} min" for t in points]
    return [f"{t:g} s" for t in points]


def directory_goals(found):
    if "slab" not in found.loads:
        return
    loss, best = found.loss(), found.best_load()
    if loss:
        yield Goal("directory", "slab", f"{loss[-1]:.1f} % of its slabs not in use at the end",
                   loss[-1], MAY_LOSE, True)
    yield growth_goal("directory", "slab", found.load("slab", "growth"))
    worst = max(((ours / theirs, ours, theirs, whose, when) for ours, (theirs, whose), when
                 in zip(found.load_at("slab"), best, load_points(found))), default=None)
    if worst:
        ratio, ours, theirs, whose, when = worst
        yield Goal("directory", "slab", f"at worst {mib(ours)} of {whose}'s {mib(theirs)} MiB, "
                   f"after {when}", ratio, 1.0)


def small_goals(found):
    if "slab" not in found.small:
        return
    small = found.small["slab"]
    taken = small.above(small.caches)
    yield Goal("small", "slab", f"20 types, one object each: {taken / MIB:.2f} MiB",
               taken / MIB, MAY_TAKE_MIB)
    yield Goal("small", "slab", f"the first slab_malloc() takes {small.first:.1f} µs", small.first,
               FIRST_US)
    yield Goal("small", "slab", f"the first object of {small.slowest} bytes takes "
               f"{small.max_us:.1f} µs", small.max_us, FURTHER_US)


def goals(found):
    return [goal for case_goals in (peak_goals, churn_goals, rcu_goals, directory_goals,
                                    small_goals) for goal in case_goals(found)]


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


def directory_table(found):
    names = load_points(found)
    lines = ["", "### directory: the example directory under its own load", "",
             "| | " + " | ".join(names) + " | most | second half | op/s |",
             "|---" + "|---:" * (POINTS + 3) + "|"]
    for name in found.loads:
        at = " | ".join(mib(value) for value in found.load_at(name))
        lines.append(f"| {name} | {at} | {mib(found.load(name, 'max'))} "
                     f"| {found.load(name, 'growth'):+.2f} % "
                     f"| {found.load(name, 'rate') / 1000:.0f}k |")
    return lines + slabs_table(found, names)


def slabs_table(found, names):
    """What libslab's slabs are used for."""
    loss = found.loss()
    if not loss:
        return []
    lines = ["", "Slabs of libslab:", "", "| MiB | " + " | ".join(names) + " |",
             "|---" + "|---:" * POINTS + "|"]
    lines += [f"| {what} | " + " | ".join(mib(value) for value in found.load_slabs(what)) + " |"
              for what in ("slabs", "objects in use", "owned by CPUs")]
    return lines + ["| loss in % of slabs | " + " | ".join(f"{v:.1f}" for v in loss) + " |"]


def small_table(found):
    anyone = next(iter(found.small.values()))
    asked = [int(runs[0].numbers["requested"]) / KIB for runs in (anyone.caches, anyone.classes)]
    sizes = len(anyone.classes[0].series)
    lines = ["", "### small: processes that use little", "",
             f"KiB above the start: one object each of 20 types ({asked[0]:.1f} KiB requested), and "
             f"of {sizes} sizes ({asked[1]:.0f} KiB). µs: the first allocation of the process, and "
             f"the first of each further size. Medians of {len(anyone.classes)} processes.", "",
             "| | at start | 20 types | all sizes | first | further | slowest | its size |",
             "|---" + "|---:" * 7 + "|"]
    for name, small in found.small.items():
        kib = " | ".join(f"{value / KIB:.0f}" for value in
                         (small.start(), small.above(small.caches), small.above(small.classes)))
        lines.append(f"| {name} | {kib} | {small.first:.1f} | {small.median_us:.2f} "
                     f"| {small.max_us:.2f} | {small.slowest} |")
    return lines


def markdown(found, head, rounds):
    out = ["# Memory: libslab against malloc", ""]
    out += [f"- {line}" for line in head]
    of = f"Medians of {rounds} processes" if rounds > 1 else "One process each"
    out += ["", "MiB resident: anonymous memory of the whole process, read from outside. "
            f"{of}. Rivals are " + ", ".join(RIVALS) + ", as Debian builds them and with their "
            "defaults. benchmarks/memory/README.md says what each case does.",
            "", "## Goals", "", "| case | | | value | goal | |", "|---|---|---|---:|---:|---|"]
    for goal in goals(found):
        said = verdict(goal)
        out.append(f"| {goal.case} | {goal.contestant} | {goal.text} | {goal.value:.2f} "
                   f"| ≤ {goal.limit:.2f} | {said if said == 'met' else f'**{said}**'} |")
    out += ["", "## All cases"]
    for what in found.peak_cases():
        out += peak_table(found, what)
    if found.days:
        out += churn_table(found)
    out += rcu_table(found)
    if found.loads:
        out += directory_table(found)
    if found.small:
        out += small_table(found)
    return "\n".join(out) + "\n"


def summary(found):
    """The goals in short, for the terminal."""
    held = goals(found)
    lines = [f"{goal.case:<13} {goal.contestant:<13} {goal.text:<58} {goal.value:6.2f} "
             f"≤ {goal.limit:.2f}  {verdict(goal)}" for goal in held]
    met = sum(goal.value <= goal.limit for goal in held)
    return "\n".join(lines + [f"{met} of {len(held)} goals met"]) if held else "no goal was judged"
