# SPDX-License-Identifier: MIT
"""Run the memory benchmark: every contestant, interleaved, several rounds.

In peak, contestants allocate and free one after the other and are idle together. In
all other cases each has the machine for itself. Every round begins with another
contestant and goes in the other direction.
"""
import argparse
import csv
import os
import re
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import bench  # noqa: E402
import chart  # noqa: E402
import report  # noqa: E402
from sample import Failed, Sampler, Watched, slab_bytes  # noqa: E402

IDLE_S = 15
PROCESS_LIMIT_S = 600
CHURN_LIMIT = 20  # a day takes at most this multiple of its planned time
PEAK_MIB = {"entries": 192, "objects": 192, "64": 64, "240": 64, "712": 64, "2112": 64}
QUICK_MIB = 32
CHURN_S, DIRECTORY_S = 60, 600
QUICK_CHURN_S, QUICK_DIRECTORY_S = 8, 12
SLAB_READINGS = 120   # of a directory's load, at most one a second
SMALL_PROCESSES, QUICK_SMALL_PROCESSES = 20, 5
RCU_WAYS = ("free", "rcu", "section", "queue")

# name: program, its first arguments, preloaded library, what it must say serves it
CONTESTANTS = {
    "slab": ("memory-slab", [], None, "libslab"),
    "slab-movable": ("memory-slab", ["-m"], None, "libslab"),
    "glibc": ("memory-malloc", [], None, "libc.so"),
    "jemalloc": ("memory-malloc", [], "libjemalloc.so.2", "libjemalloc"),
    "tcmalloc": ("memory-malloc", [], "libtcmalloc_minimal.so.4", "libtcmalloc"),
    "mimalloc": ("memory-malloc", [], "libmimalloc.so.2", "libmimalloc"),
}
CASES = [f"peak.{what}" for what in PEAK_MIB] + ["churn", "rcu", "directory", "small"]

# What the example directory prints: how its load goes, and what it did.
PROGRESS = re.compile(r"\s*([0-9]+)% op/s ")
OPERATIONS = re.compile(r"[0-9,]+ operations in [0-9.]+ s = ([0-9,]+) per second")


CASES_HELP = f"""cases, and how long one takes for each contestant and round (--quick):
  peak.*     memory at a peak, after 90 % of it was freed, and 15 s later:
             about 30 s for all contestants together
  churn      memory over a directory server's day, its growth and its maximum:
             {CHURN_S} s ({QUICK_CHURN_S} s), longer for a slow contestant
  rcu        frees that wait for RCU: how many a second, and how many wait:
             24 s (8 s), libslab alone
  directory  memory and operations a second of the example directory under its own
             load; of libslab also bytes of slabs, of those that CPUs own, and
             of objects in use: {DIRECTORY_S} s ({QUICK_DIRECTORY_S} s)
  small      memory of a process with one object each of 20 types or of all
             sizes, and the times of the first allocations: 2 s

All cases take about 2 hours, without directory 20 minutes, with --quick
5 minutes. Results: build/bench/memory.md, memory.svg and memory.csv.
"""


def make_parser():
    parser = bench.Parser("memory", "Resident memory of libslab and of malloc: after a peak and "
                          "an idle time,\nunder the load of a directory server, and of processes "
                          "that use little.")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = CASES_HELP
    parser.add_argument("--quick", action="store_true", help="1 round, small peaks, "
                        f"{QUICK_CHURN_S} seconds of churn, {QUICK_DIRECTORY_S} of directory")
    parser.add_argument("--rounds", help="processes per contestant and case (default 2); small "
                        f"starts {SMALL_PROCESSES} a round")
    parser.add_argument("--seconds", help="how long a day of churn and the load of directory "
                        f"take (default {CHURN_S} and {DIRECTORY_S})")
    parser.add_argument("--cases", metavar="REGEX", help="of " + " ".join(CASES))
    parser.add_argument("--contestants", metavar="LIST", help="of " + ",".join(CONTESTANTS))
    parser.add_argument("--build", default="build", help=argparse.SUPPRESS)
    return parser


class Contestant:
    """One contestant: how to start it, and whether it works here."""

    def __init__(self, name, binaries, runtime):
        program, self.first, self.preload, self.expected = CONTESTANTS[name]
        self.name = name
        self.program = os.path.join(binaries, program)
        self.environment = bench.plain_environment(runtime)
        if self.preload and bench.library(self.preload):
            self.environment["LD_PRELOAD"] = bench.library(self.preload)
        self.allocator = ""

    def beside(self, program):
        """Another program of the same build."""
        return os.path.join(os.path.dirname(self.program), program)

    def why_not(self):
        """Try it: None, or why it cannot take part."""
        if not os.access(self.program, os.X_OK):
            return f"{self.program} is not built; run ./run build first"
        if self.preload and not bench.library(self.preload):
            return f"{self.preload} is not installed"
        watched = Watched(self, "try", 0, self.first + ["peak", "64", "1"], 60)
        try:
            watched.expect("start")
        except Failed as error:
            return str(error)
        finally:
            watched.end()
        self.allocator = watched.numbers.get("allocator", "unknown")
        if self.expected not in self.allocator:
            return f"'{self.allocator}' served it instead"
        return None


class Rounds:
    """All rounds of all cases; what was found is in runs, what went wrong in failures."""

    def __init__(self, contestants, rounds, churn_s, directory_s, quick):
        self.contestants, self.rounds = contestants, rounds
        self.churn_s, self.directory_s, self.quick = churn_s, directory_s, quick
        self.runs, self.failures = [], {}
        self.sampler = Sampler()
        self.sampler.start()

    def say(self, turn, case, text):
        print(f"round {turn + 1}/{self.rounds}  {case:<13} {text}", file=sys.stderr, flush=True)

    def failed(self, contestant, case, error):
        self.failures[contestant] = f"{case}: {error}"
        print(f"{contestant} failed in {case}: {error}", file=sys.stderr)

    def start(self, contestant, case, turn, arguments, limit_s, program=None):
        watched = Watched(contestant, case, turn, arguments, limit_s, program)
        self.sampler.add(watched)
        return watched

    # ---- peak ----

    def to_idle(self, contestant, case, turn):
        """One process up to the moment when it has nothing to do any more."""
        what = case.partition(".")[2]
        mib = QUICK_MIB if self.quick else PEAK_MIB[what]
        watched = self.start(contestant, case, turn, contestant.first + ["peak", what, str(mib)],
                             PROCESS_LIMIT_S)
        try:
            for name in ("start", "peak", "freed"):
                watched.expect(name)
                watched.go()
            watched.expect("idle")
            return watched
        except Failed as error:
            watched.end()
            self.failed(contestant.name, case, error)
            return None

    def peak(self, case, turn):
        idle = [self.to_idle(contestant, case, turn) for contestant in bench.order(self.contestants, turn)]
        idle = [watched for watched in idle if watched]
        self.say(turn, case, f"all have allocated and freed; idle for {IDLE_S} s")
        for watched in idle:
            time.sleep(max(watched.marks["idle"][0] + IDLE_S - watched.seconds(), 0))
            watched.mark("after")
            watched.end()
        self.runs += idle

    # ---- churn ----

    def churn_one(self, contestant, turn):
        watched = self.start(contestant, "churn", turn,
                             contestant.first + ["churn", str(self.churn_s)],
                             self.churn_s * CHURN_LIMIT + PROCESS_LIMIT_S)
        try:
            watched.expect("start")
            watched.go()
            while "end" not in watched.marks:
                word, rest = watched.line()
                watched.numbers[word] = rest
                if word in ("hour", "end"):
                    watched.mark(f"hour {rest}" if rest else word)
        except Failed as error:
            watched.end()
            self.failed(contestant.name, "churn", error)
            return
        watched.end()
        took = watched.marks["end"][0] - watched.marks["start"][0]
        self.say(turn, "churn", f"{contestant.name}: {took:.0f} s, resident "
                 f"{watched.marks['end'][1] / report.MIB:.0f} MiB")
        self.runs.append(watched)

    def churn(self, turn):
        for contestant in bench.order(self.contestants, turn):
            self.churn_one(contestant, turn)

    # ---- rcu ----

    def rcu(self, turn):
        """Only libslab's own: the plain contestant's environment, another program."""
        slab = next((c for c in self.contestants if c.name == "slab"), None)
        for way in RCU_WAYS if slab else ():
            self.rcu_one(slab, way, turn)

    def rcu_one(self, slab, way, turn):
        watched = self.start(slab, f"rcu.{way}", turn, [way, "2" if self.quick else "6"],
                             PROCESS_LIMIT_S, slab.beside("memory-rcu"))
        watched.series["waiting"] = []
        try:
            word, rest = watched.line()
            while word != "freed":
                watched.series["waiting"].append((float(word), int(rest)))
                word, rest = watched.line()
        except Failed as error:
            watched.end()
            self.failed("slab", f"rcu.{way}", error)
            return
        watched.mark("end")
        seconds, freed = rest.split()
        watched.rate = int(freed) / float(seconds)
        watched.end()
        self.say(turn, f"rcu.{way}", f"{watched.rate / 1e6:.1f} million a second")
        self.runs.append(watched)

    # ---- directory ----

    def directory_one(self, contestant, turn):
        """The directory, until it has told what it did. Its load begins when all is loaded."""
        program = contestant.beside("directory" if contestant.name == "slab"
                                    else "directory-malloc")
        if not os.access(program, os.X_OK):
            self.failed(contestant.name, "directory", f"{program} is not built")
            return
        watched = self.start(contestant, "directory", turn, ["--slabinfo", "off",
                             "--seconds", str(self.directory_s)],
                             self.directory_s + PROCESS_LIMIT_S, program)
        try:
            watched.expect("Loaded")
            watched.rate = self.under_load(watched, contestant)
        except Failed as error:
            self.failed(contestant.name, "directory", error)
            return
        finally:
            watched.end()
        load = report.Load(watched)
        self.say(turn, "directory", f"{contestant.name}: {watched.rate / 1000:.0f}k operations a "
                 f"second, resident {load.at[-1] / report.MIB:.0f} MiB")
        self.runs.append(watched)

    def under_load(self, watched, contestant):
        """Operations a second; on the way, what libslab's slabs are used for."""
        watched.load_s, due = self.directory_s, 0
        while True:
            _, rest = watched.line()
            done, progress = OPERATIONS.match(rest), PROGRESS.match(rest)
            if done:
                return int(done.group(1).replace(",", ""))
            if (contestant.name == "slab" and progress and progress.group(1) != "100"
                    and watched.seconds() >= due):
                due = watched.seconds() + self.directory_s / SLAB_READINGS
                found = slab_bytes(contestant.beside("slabinfo"), contestant.environment,
                                   watched.process.pid)
                for name, value in found.items():
                    watched.add(name, value)

    # ---- small ----

    def small_one(self, contestant, what, turn):
        """A fresh process; nothing looks at it while it measures time."""
        watched = Watched(contestant, f"small.{what}", turn, ["small", what], PROCESS_LIMIT_S)
        try:
            for name in ("start", "end"):
                watched.expect(name)
                watched.go()
            word, rest = watched.line()
            while word != "done":
                size, ns = rest.split()
                watched.add(f"first of {size}", int(ns))
                word, rest = watched.line()
        except Failed as error:
            self.failed(contestant.name, f"small.{what}", error)
            return False
        finally:
            watched.end()
        self.runs.append(watched)
        return True

    def small(self, contestant, turn):
        n = QUICK_SMALL_PROCESSES if self.quick else SMALL_PROCESSES
        if all(self.small_one(contestant, what, turn)
               for _ in range(n) for what in report.SMALL_TITLES):
            self.say(turn, "small", f"{contestant.name}: {n} processes with 20 types, {n} with "
                     "all sizes")

    def each(self, one, turn):
        """One after the other; movable objects make no difference here."""
        for contestant in bench.order(self.contestants, turn):
            if contestant.name != "slab-movable":
                one(contestant, turn)

    def run(self, cases):
        for turn in range(self.rounds):
            for case in cases:
                if case.startswith("peak."):
                    self.peak(case, turn)
                elif case == "churn":
                    self.churn(turn)
                elif case == "rcu":
                    self.rcu(turn)
                else:
                    self.each(self.directory_one if case == "directory" else self.small, turn)


def write_csv(path, runs):
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["round", "contestant", "case", "what", "seconds", "value"])
        for run in runs:
            where = [run.turn + 1, run.contestant, run.case]
            out.writerows(where + ["resident", f"{s:.2f}", value] for s, value in run.samples)
            out.writerows(where + [name, f"{s:.2f}", value]
                          for name, (s, value) in run.marks.items())
            for name, points in run.series.items():
                out.writerows(where + [name, f"{s:.2f}", value] for s, value in points)
            if run.rate:
                out.writerow(where + ["rate", "", f"{run.rate:.0f}"])


def main():
    parser = make_parser()
    args = parser.parse_args()
    rounds = parser.number("--rounds", args.rounds, 1 if args.quick else 2, 1, 100)
    churn_s = parser.number("--seconds", args.seconds, QUICK_CHURN_S if args.quick else CHURN_S,
                            1, 86400)
    directory_s = churn_s if args.seconds else QUICK_DIRECTORY_S if args.quick else DIRECTORY_S
    names = parser.contestants(args.contestants, list(CONTESTANTS))
    cases = parser.cases(args.cases, CASES)
    results = os.path.join(args.build, "bench")
    os.makedirs(results, exist_ok=True)
    head = [bench.machine()]
    with tempfile.TemporaryDirectory() as runtime:
        binaries = os.path.join(args.build, "bin")
        able, left_out = parser.take_part(Contestant(n, binaries, runtime) for n in names)
        head += [f"{c.name}: {c.allocator}" for c in able] + left_out
        measured = Rounds(able, rounds, churn_s, directory_s, args.quick)
        try:
            measured.run(cases)
        finally:
            measured.sampler.end_all()
    head += [f"{name} failed in {why}" for name, why in measured.failures.items()]

    found = report.Found(measured.runs, [c.name for c in able])
    base = os.path.join(results, "memory")
    write_csv(base + ".csv", measured.runs)
    with open(base + ".md", "w", encoding="utf-8") as file:
        file.write(report.markdown(found, head, rounds))
    with open(base + ".svg", "w", encoding="utf-8") as file:
        file.write(chart.svg(found, head[0]))
    print(report.summary(found))
    shown = os.path.relpath(base)
    print(f"table: {shown}.md   chart: {shown}.svg   all samples: {shown}.csv")
    return 1 if any(name.startswith("slab") for name in measured.failures) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nbench memory: interrupted, nothing was written", file=sys.stderr)
        sys.exit(130)
