# SPDX-License-Identifier: MIT
"""Rounds of a benchmark: every contestant in turn, and a line of CSV for each figure.

A benchmark is a folder with description.py, the description:

    QUESTION                what it answers, for --list
    SECONDS                 how long --quick and all of it take
    CASES                   {name: title}, in the order of the tables
    METRICS                 {metric: unit}; runner.UNITS has the units
    contestants(build)      [Contestant]
    measure(contestant, cases, run)
                            yields (case, size, metric, value); size is 0 when there is none. It may
                            yield IDLE once: it goes on when all other contestants are there, too

and, where they are needed:

    ROUNDS, SIZES           (quick, full)
    TOGETHER                measure() gets all cases at once, not one after the other
    OPTIONS                 {name: (quick, full, help)}
    GOALS, RIVALS           Goal below; the contestants that ours are held against
    NAMED                   contestants that run when they are named, and are rivals when there are no others
    SHOWN                   contestants whose ratios the terminal shows; by default slab
    PUBLISHED               [(contestant, case, size, metric, value)], figures of others
    HEADS                   {"time": metrics, "memory": metrics} of the table of slab against each rival alone
    NEGLIGIBLE              {metric: if both figures are below that, the ratio is 1}
    CURVES                  metrics whose size is a time in seconds, and which are bytes
    SHORT                   {"cases": ..., "contestants": ..., "sizes": ...} of ./run bench --quick
    keep(rows)              the rows that count

A metric whose name ends in "_min" is the least of what another one is the median of; one whose name ends
in "rate" is better when it is larger.
"""
import collections
import os
import re
import signal
import subprocess
import tempfile
import threading

import bench
import preload

IDLE = object()
LIMIT_S = 600
COLUMNS = ("round", "contestant", "case", "size", "metric", "value")
# unit: divisor of a figure, digits
UNITS = {"ns": (1, 1), "cycles": (1, 1), "ms": (1e-3, 2), "s": (1, 2), "µs": (1e-6, 1), "MiB": (1 << 20, 1),
         "KiB": (1 << 10, 1), "bytes": (1, 0), "": (1, 0), "%": (1, 1), "op/s": (1, 0)}
RIVALS = (*preload.RIVALS, "SLAB", "sheaves", "slob")

# against: "rivals", the best of them; (contestant, case); or None: the limit is in the metric's own unit
Goal = collections.namedtuple("Goal", "case metric limit against sizes ours",
                              defaults=("rivals", None, "slab"))


class Failed(Exception):
    """A process did not do what it was asked for; the text says why."""


class Contestant:
    """A program, its first arguments and its environment. serves: a part of the line "# TEXT" by which the
    program says what allocates for it; by default the library that takes malloc's place.
    """

    def __init__(self, name, program, probe=(), preloaded=None, serves=None, arguments=(), **environment):
        self.name, self.program, self.probe, self.arguments = name, program, list(probe), list(arguments)
        self.preloaded, self.library = preloaded, None
        self.serves, self.allocator = serves, ""
        self.more = environment
        self.environment = dict(os.environ)

    def prepare(self, build, runtime):
        """None, or why it cannot take part."""
        self.environment = dict(bench.plain_environment(runtime), **self.more)
        if not os.access(self.program, os.X_OK):
            return f"{os.path.basename(self.program)} is not built (run ./run build, or its library is missing)"
        if self.preloaded:
            malloc = preload.Contestant(self.preloaded, build, runtime)
            if malloc.missing():
                return malloc.missing()
            self.library = malloc.library
            self.environment.update(preload.ENVIRONMENT.get(self.preloaded, {}))
            self.serves = self.serves or os.path.realpath(self.library)
            if self.preloaded != "glibc":
                self.environment["LD_PRELOAD"] = self.library
        return self.try_it() if self.probe else None

    def try_it(self):
        """Run it once: does it end, and does the right library serve it?"""
        try:
            process = Process(self, self.probe, 60)
            self.allocator = (process.line() or "nothing").removeprefix("# ").strip()
            process.end()
        except Failed as error:
            return str(error)
        if self.serves and self.serves not in (self.allocator + " " + os.path.realpath(self.allocator)):
            return f"'{self.allocator}' served it instead"
        return None


class Process:
    """A program of a contestant, in a process group of its own, killed after a limit."""

    def __init__(self, contestant, arguments, limit_s=LIMIT_S, program=None, **environment):
        command = [program or contestant.program, *contestant.arguments, *map(str, arguments)]
        self.limit_s, self.late = limit_s, False
        try:
            self.process = subprocess.Popen(
                command, env=dict(contestant.environment, **environment), text=True, start_new_session=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except OSError as error:
            raise Failed(f"{command[0]}: {error.strerror}") from None
        self.pid = self.process.pid
        self.timer = threading.Timer(limit_s, self.expire)
        self.timer.daemon = True
        self.timer.start()

    def expire(self):
        self.late = True
        self.kill()

    def line(self):
        """The next line that it prints; None at its good end."""
        line = self.process.stdout.readline()
        if line:
            return line.rstrip("\n")
        errors = self.process.stderr.read().strip().splitlines()
        status = self.process.wait()
        if self.late:
            raise Failed(f"stopped after {self.limit_s:.0f} seconds")
        if status:
            raise Failed(errors[-1] if errors else f"it ended with status {status}")
        return None

    def lines(self, last=None):
        """What it prints until `last`, without remarks and empty lines."""
        while (line := self.line()) != last:
            if line is None:
                raise Failed(f"it ended before it said '{last}'")
            if line.strip() and not line.startswith("#"):
                yield line

    def figures(self):
        """Lines of "case,size,metric,value"."""
        for line in self.lines():
            words = line.split(",")
            if len(words) != 4:
                raise Failed(f"'{line}' is no line of case,size,metric,value")
            yield words[0], int(words[1]), words[2], float(words[3])

    def go(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def end(self):
        self.timer.cancel()
        self.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                pipe.close()
            except BrokenPipeError:
                pass


def program_figures(contestant, arguments, **environment):
    """The figures of one process."""
    process = Process(contestant, arguments, **environment)
    try:
        yield from process.figures()
    finally:
        process.end()


def from_libraries(program, names=tuple(preload.LIBRARIES), **options):
    """A contestant for each library that takes malloc's place in the same program."""
    return [Contestant(name, program, preloaded=name, **options) for name in names]


class Run:
    """One run of a benchmark. Descriptions read build, quick, sizes, options and turn."""

    def __init__(self, name, description, build, quick, rounds=None, sizes=None, options=None):
        def choose(values):
            return values[0 if quick else 1]

        self.name, self.description, self.build, self.quick = name, description, build, quick
        self.rounds = rounds or choose(getattr(description, "ROUNDS", (1, 5)))
        self.sizes = sizes or choose(getattr(description, "SIZES", ((), ())))
        self.options = {key: choose(values) for key, values in getattr(description, "OPTIONS", {}).items()}
        self.options.update(options or {})
        self.rows, self.failures, self.turn = [], {}, 0
        self.kept = {}  # processes that a description keeps until the end

    def take_part(self, contestants, runtime):
        """Those that can run, and a line for each."""
        able, head = [], []
        for one in contestants:
            why = one.prepare(self.build, runtime)
            if why is None:
                able.append(one)
            head.append(f"{one.name}: {one.allocator}" if why is None else f"{one.name} is left out: {why}")
        if not able:
            raise Failed("no contestant can run: " + ", ".join(head))
        return able, [line for line in head if not line.endswith(": ")]

    def measure(self, contestants, cases, csv):
        """All rounds; figures go to the file as they come."""
        steps = [cases] if getattr(self.description, "TOGETHER", False) else [[case] for case in cases]
        progress = bench.Progress(self.rounds * len(steps) * len(contestants), self.rounds)
        csv.write(",".join(COLUMNS) + "\n")
        for self.turn in range(self.rounds):
            for step in steps:
                self.step(contestants, step, csv, progress)
        progress.end()

    def step(self, contestants, cases, csv, progress):
        """Cases of all contestants, one after the other; then the rest of those that wait."""
        waiting = []
        try:
            for contestant in bench.order(contestants, self.turn):
                progress.show(self.turn, f"{' '.join(cases)[:30]} {contestant.name}")
                going = self.description.measure(contestant, cases, self)
                waiting.append((contestant, going))
                if self.drain(contestant, cases, going, csv, progress):
                    waiting.pop()
            for contestant, going in waiting:
                self.drain(contestant, cases, going, csv, progress)
        finally:
            for _, going in waiting:
                going.close()
        csv.flush()

    def drain(self, contestant, cases, going, csv, progress):
        """Take figures; False when it waits for the others."""
        try:
            for figure in going:
                if figure is IDLE:
                    return False
                row = (self.turn + 1, contestant.name, *figure[:3], float(figure[3]))
                self.rows.append(row)
                csv.write(",".join(map(str, row[:5])) + f",{row[5]:.9g}\n")
                if figure[1]:
                    progress.detail(f"{figure[0]} {figure[1]} {contestant.name}")
        except Failed as error:
            going.close()
            case = re.sub(r"(.{60}).+", r"\1…", " ".join(cases))
            self.failures[contestant.name, case] = str(error)
            progress.say(f"{contestant.name} failed in {case}: {error}")
        return True

    def run(self, contestants, cases, path):
        """Measure, with results at `path` without an ending; (lines about the machine, able contestants)."""
        with tempfile.TemporaryDirectory(prefix="bench-") as runtime, \
                open(path + ".csv", "w", encoding="utf-8") as csv:
            able, head = self.take_part(contestants, runtime)
            try:
                self.measure(able, cases, csv)
            finally:
                for process in self.kept.values():
                    process.end()
        return head, able
