# SPDX-License-Identifier: MIT
"""Run all benchmarks, one after the other, into one folder of results.

Each is a process group of its own, so that an interrupt ends all that it started. What a
benchmark has finished is in the folder before the next one begins.
"""
import collections
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

import table

RESULTS = (".md", ".csv", ".svg", ".json")
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
END_S = 20  # what an interrupted benchmark has to stop its servers
NEW_LINE, CLEAR = "\n", "\r" + " " * 78 + "\r"

Outcome = collections.namedtuple("Outcome", "name options seconds failure files")


class Estimate:
    """The time that is left: the table's, times how much longer all took until now."""

    def __init__(self, benchmarks, quick):
        self.planned = {one.name: table.seconds(one, quick) for one in benchmarks}
        self.took = {}

    def factor(self):
        planned = sum(self.planned[name] for name in self.took)
        return sum(self.took.values()) / planned if planned else 1.0

    def left(self, running=None, elapsed=0.0):
        """Seconds, with those of the one that runs now."""
        total = sum(seconds for name, seconds in self.planned.items()
                    if name not in self.took and name != running) * self.factor()
        if running is not None:
            total += max(self.planned[running] * self.factor() - elapsed, 0.0)
        return total


def new_folder(build, today):
    """build/bench/DATE; a second run of a day gets DATE.2."""
    base = os.path.join(build, "bench", today)
    path, count = base, 1
    while os.path.exists(path):
        count += 1
        path = f"{base}.{count}"
    os.makedirs(path)
    return path


def last_line(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file.read().replace("\r", "\n").splitlines()]
    return next((line for line in reversed(lines) if line), "")


@contextlib.contextmanager
def deferred():
    """A signal that interrupts a run waits until the end of the block."""
    arrived = []
    before = {number: signal.signal(number, lambda number, _: arrived.append(number))
              for number in INTERRUPTS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if arrived:
        raise KeyboardInterrupt


def stop(process):
    """Interrupt all that a benchmark started, and wait for its end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(END_S)
            return
        except ProcessLookupError:
            process.wait()
            return
        except subprocess.TimeoutExpired:
            continue


class Everything:
    """A run of all benchmarks: outcomes has what became of each."""

    def __init__(self, root, build, quick, machine, benchmarks=None):
        self.root, self.build, self.quick, self.machine = root, build, quick, machine
        self.benchmarks = table.TABLE if benchmarks is None else benchmarks
        self.estimate = Estimate(self.benchmarks, quick)
        self.outcomes = []
        self.tty = sys.stderr.isatty()
        self.folder = new_folder(build, time.strftime("%Y-%m-%d"))

    def show(self, text, stays):
        if self.tty:
            print(CLEAR + text[:78], end=NEW_LINE if stays else "", file=sys.stderr, flush=True)
        elif stays:
            print(text, file=sys.stderr, flush=True)

    def where(self, name):
        names = [one.name for one in self.benchmarks]
        return f"[{names.index(name) + 1}/{len(names)}] {name}"

    def command(self, benchmark):
        script = os.path.join(self.root, "benchmarks", benchmark.name, "run.sh")
        if not os.path.exists(script):
            script = os.path.join(self.root, "dirsrv", "benchmarks", benchmark.name, "run.sh")
        return ["sh", script, *(benchmark.quick if self.quick else ())]

    def run(self):
        """All of them; True when none failed."""
        for benchmark in self.benchmarks:
            self.outcomes.append(self.one(benchmark))
            self.write_summary()
        return not any(outcome.failure for outcome in self.outcomes)

    def one(self, benchmark):
        name = benchmark.name
        self.show(f"{self.where(name)}: about {table.spoken(self.estimate.planned[name])}; "
                  f"{table.spoken(self.estimate.left())} left in all", True)
        log = os.path.join(self.folder, name + ".log")
        since, begin = time.time(), time.monotonic()
        command = self.command(benchmark)
        with open(log, "w", encoding="utf-8") as file:
            process = None
            try:
                with deferred():
                    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file,
                                               stderr=subprocess.STDOUT, start_new_session=True,
                                               cwd=self.root)
                self.wait(process, name, begin)
            except BaseException:
                if process:
                    stop(process)
                raise
        took = time.monotonic() - begin
        self.estimate.took[name] = took
        failure = ""
        if process.returncode:
            failure = f"exit status {process.returncode}: {last_line(log)}"
        self.show(f"{self.where(name)}: {'FAILED, ' + failure if failure else 'done'}, "
                  f"{table.spoken(took)}", True)
        return Outcome(name, " ".join(command[2:]), took, failure, self.keep(name, since))

    def wait(self, process, name, begin):
        while True:
            try:
                process.wait(1)
                return
            except subprocess.TimeoutExpired:
                elapsed = time.monotonic() - begin
                left = self.estimate.left(name, elapsed)
                self.show(f"{self.where(name)}: {table.spoken(elapsed)}; "
                          f"{table.spoken(left)} left in all", False)

    def keep(self, name, since):
        """Copy what the benchmark wrote; older files are of another run."""
        kept = []
        for ending in RESULTS:
            path = os.path.join(self.build, "bench", name + ending)
            if os.path.exists(path) and os.path.getmtime(path) >= int(since):
                shutil.copy2(path, self.folder)
                kept.append(name + ending)
        return kept

    def write_summary(self):
        """run.md: the machine, and what became of each benchmark until now."""
        lines = ["# Benchmarks" + (", --quick" if self.quick else ""), ""]
        lines += [f"- {line}" for line in self.machine]
        lines += ["", "| benchmark | options | seconds | result | files |", "|---|---|---:|---|---|"]
        for outcome in self.outcomes:
            files = ", ".join(f"[{file}]({file})" for file in outcome.files)
            options = f"`{outcome.options}`".replace("|", "\\|") if outcome.options else ""
            lines.append(f"| {outcome.name} | {options} | {outcome.seconds:.0f} | "
                         f"{outcome.failure or 'done'} | {files} |")
        with open(os.path.join(self.folder, "run.md"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
