# SPDX-License-Identifier: MIT
"""Resident memory: after a peak and an idle time, under the load of a directory server, and of processes
that use little. A process is looked at from outside, ten times a second.
"""
import json
import os
import re
import statistics
import subprocess
import threading
import time

import bench
import runner
from runner import Contestant, Failed, Goal, Process

QUESTION = "memory after a peak, under load, and of small processes"
SECONDS = (16, 7200)
ROUNDS = (1, 2)
OPTIONS = {"seconds": (8, 60, "length of a day of churn, and of a tenth of the load of directory")}
METRICS = {"live": "MiB", "peak": "MiB", "freed": "MiB", "idle": "MiB", "resident": "MiB", "mean": "MiB",
           "most": "MiB", "growth": "%", "loss": "%", "share": "%", "waiting": "", "took": "s", "rate": "op/s",
           "copied": "MiB", "start": "KiB", "caches": "KiB", "classes": "KiB", "first": "µs", "further": "µs", "slowest": "µs"}
CURVES = ("at",)
CASES = {
    "peak.entries": "entries of a directory, freed as a whole",
    "peak.objects": "the same objects, each freed by itself",
    **{f"peak.{size}": f"{size} bytes alone" for size in (64, 240, 712, 2112)},
    "churn": "a day of a directory server",
    "rcu.free": "slab_free()", "rcu.rcu": "slab_free_rcu() outside of sections",
    "rcu.section": "slab_free_rcu() within sections of 16 frees",
    "rcu.queue": "slab_free(), 17476 objects later",
    "directory": "the example directory under its own load",
    "small": "one object each of 20 types (caches), and of every size (classes)",
    "aging.pool": "jobs of 44 MiB, one at a time, on 40 threads at random",
    "aging.holes": "100 MiB, of which one block in sixteen survives",
    "aging.snapshot": "100 MiB, freed by the child of a fork()",
    "aging.phases": "at most 68 MB in 4 threads, whose sizes change by phase",
    "aging.silence": "100 MiB, passed to another thread and freed; then sleep",
}
# Contestants of aging alone, which has libslab_malloc.so for libslab.
OTHERS = {"glibc-2": ("glibc", {"MALLOC_ARENA_MAX": "2"}), "jemalloc5": ("jemalloc5", {}),
          "jemalloc5-thread": ("jemalloc5", {"MALLOC_CONF": "background_thread:true"}),
          **{name: (name, {}) for name in ("mimalloc2", "mimalloc3", "snmalloc", "rpmalloc", "google")}}
RIVALS = tuple(dict.fromkeys((*runner.RIVALS, *OTHERS)))
SHORT = {"cases": "peak.objects|small", "contestants": "slab,glibc"}
MIB = 1 << 20
PEAK_MIB = {"entries": 192, "objects": 192}  # and 64 of a single size
QUICK_MIB, IDLE_S, SAMPLE_S = 32, 15, 0.1
CHURN_LIMIT = 20  # a day takes at most this multiple of its planned time
LOADS = 10        # the load of directory is so many times as long as a day of churn
PROCESSES = (5, 20)
OBJECT_BYTES = 240                       # of the rcu cases
MAY_WAIT = 1.25 * 16 * MIB / OBJECT_BYTES  # see <slab/rcu.h>; the backlog is looked at now and then
GOALS = [
    *(Goal(case, "idle", limit, ours=ours) for case in CASES if case.startswith("peak.")
      for ours, limit in (("slab", 0.7), ("slab-movable", 0.3))),
    *(Goal("churn", metric, limit, against, ours=ours) for ours in ("slab", "slab-movable")
      for metric, limit, against in (("growth", 1.0, None), ("mean", 1.0, "rivals"), ("most", 1.0, "rivals"))),
    *(Goal(case, metric, limit, against) for case in ("rcu.rcu", "rcu.section")
      for metric, limit, against in (("rate", 2.0, ("slab", "rcu.free")), ("waiting", MAY_WAIT, None),
                                     ("growth", 1.0, None))),
    Goal("aging.pool", "most", 1.0), Goal("aging.holes", "idle", 1.0), Goal("aging.snapshot", "copied", 1.0),
    Goal("aging.phases", "most", 1.15, ("glibc", "aging.phases")), Goal("aging.silence", "share", 15.0, None),
    Goal("directory", "loss", 15.0, None), Goal("directory", "growth", 1.0, None),
    Goal("directory", "resident", 1.0), Goal("small", "caches", MIB, None),
    Goal("small", "first", 50e-6, None), Goal("small", "slowest", 5e-6, None),
]
OPERATIONS = re.compile(r"[0-9,]+ operations in [0-9.]+ s = ([0-9,]+) per second")


def contestants(build):
    def one(name, program, **more):
        return Contestant(name, os.path.join(build, "bin", program), ("peak", "64", 1), **more)

    return [one("slab", "memory-slab", serves="libslab"),
            one("slab-movable", "memory-slab", arguments=("-m",), serves="libslab"),
            *(one(name, "memory-malloc", preloaded=name)
              for name in ("glibc", "jemalloc", "tcmalloc", "mimalloc")),
            *(one(name, "memory-malloc", preloaded=library, **more) for name, (library, more) in OTHERS.items())]


class Watched(Process):
    """A process whose resident memory is sampled: [(seconds, bytes)]."""

    def __init__(self, contestant, arguments, limit_s, program=None, **environment):
        super().__init__(contestant, arguments, limit_s, program, **environment)
        self.begin, self.samples, self.numbers, self.over = time.monotonic(), [], {}, threading.Event()
        self.sampler = threading.Thread(target=self.sample_all, daemon=True)
        self.sampler.start()

    def seconds(self):
        return time.monotonic() - self.begin

    def sample(self):
        self.samples.append((self.seconds(), bench.resident(self.pid)))
        return self.samples[-1][1]

    def sample_all(self):
        while not self.over.wait(SAMPLE_S):
            try:
                self.sample()
            except (OSError, KeyError):
                return  # it has ended

    def expect(self, name):
        """What is resident when it says this; the numbers that it says before are kept."""
        for line in self.lines(name):
            word, _, rest = line.partition(" ")
            self.numbers[word] = rest
        return self.sample()

    def since(self, begin):
        return sorted((s - begin, value) for s, value in self.samples if s >= begin)

    def curve(self, case, begin=0.0):
        return [(case, int(s) + 1, "at", value) for s, value in self.since(begin)]

    def end(self):
        self.over.set()
        super().end()


def second_half(samples):
    return bench.growth([value for s, value in samples if s > samples[-1][0] / 2])


def measure(contestant, cases, run):
    kind, _, what = cases[0].partition(".")
    movable = contestant.name == "slab-movable"
    if (kind == "rcu" and contestant.name != "slab") or (kind in ("directory", "small", "aging") and movable):
        return
    if kind != "aging" and contestant.name in OTHERS:
        return
    if kind == "small":
        yield from small(contestant, PROCESSES[not run.quick])
        return
    processes = []

    def start(arguments, limit_s, program=None, **environment):
        if program:
            program = os.path.join(os.path.dirname(contestant.program), program)
        processes.append(Watched(contestant, arguments, limit_s, program, **environment))
        return processes[-1]

    try:
        yield from {"peak": peak, "churn": churn, "rcu": rcu, "directory": directory,
                    "aging": aging}[kind](
            contestant, cases[0], what, run, start)
    finally:
        for process in processes:
            process.end()


def peak(_contestant, case, what, run, start):
    process = start(["peak", what, QUICK_MIB if run.quick else PEAK_MIB.get(what, 64)], runner.LIMIT_S)
    process.expect("start")
    process.go()
    for mark in ("peak", "freed"):
        yield case, 0, mark, process.expect(mark)
        process.go()
    process.expect("idle")
    yield case, 0, "live", int(process.numbers["live"])
    due = time.monotonic() + IDLE_S
    yield runner.IDLE
    time.sleep(max(due - time.monotonic(), 0))
    yield case, 0, "idle", process.sample()
    yield from process.curve(case)


def churn(_contestant, case, _what, run, start):
    seconds = run.options["seconds"]
    process = start(["churn", seconds], seconds * CHURN_LIMIT + runner.LIMIT_S)
    process.expect("start")
    begin = process.seconds()
    process.go()
    process.expect("end")
    samples = process.since(begin)
    values = [value for _, value in samples]
    yield from ((case, 0, metric, value) for metric, value in (
        ("mean", statistics.fmean(values)), ("most", max(values)), ("growth", second_half(samples)),
        ("took", process.seconds() - begin)))
    yield from process.curve(case, begin)


def rcu(_contestant, case, what, run, start):
    """libslab alone, another program: frees a second, and how many objects wait."""
    process, waiting = start([what, 2 if run.quick else 6], runner.LIMIT_S, "memory-rcu"), [0]
    for line in process.lines():
        words = line.split()
        if words[0] == "freed":
            yield case, 0, "rate", int(words[2]) / float(words[1])
            break
        waiting.append(int(words[1]))
    yield case, 0, "waiting", max(waiting)
    yield case, 0, "growth", second_half(process.since(0))


def aging(contestant, case, what, run, start):
    """Like the programs of users: with malloc(), and without a thread of libslab."""
    preload = {"LD_PRELOAD": os.path.join(run.build, "lib", "libslab_malloc.so")} if contestant.name == "slab" else {}
    process = start(["aging", what], runner.LIMIT_S, "memory-malloc", **preload)
    process.expect("start")
    begin = process.seconds()
    process.go()
    if what == "silence":
        process.expect("peak")
        process.go()
    process.expect("done")
    due = time.monotonic() + IDLE_S
    if "copied" in process.numbers:
        yield case, 0, "copied", int(process.numbers["copied"])
        return
    yield case, 0, "took", process.seconds() - begin
    yield runner.IDLE
    time.sleep(max(due - time.monotonic(), 0))
    yield case, 0, "idle", process.sample()
    yield case, 0, "most", (most := max(value for _, value in process.since(begin)))
    yield case, 0, "share", process.samples[-1][1] / most * 100
    yield from process.curve(case, begin)


def directory(contestant, case, _what, run, start):
    """The example directory, from the beginning of its load."""
    seconds, ours = run.options["seconds"] * (1 if run.quick else LOADS), contestant.name == "slab"
    process = start(["--seconds", seconds], seconds + runner.LIMIT_S,
                    "directory" if ours else "directory-malloc")
    next(line for line in process.lines() if line.startswith("Loaded"))
    begin, lost, due = process.seconds(), [], 0
    for line in process.lines():
        done = OPERATIONS.search(line)
        if done:
            yield case, 0, "rate", int(done.group(1).replace(",", ""))
            break
        if ours and "% op/s" in line and " 100%" not in line and process.seconds() >= due:
            due = process.seconds() + seconds / 100
            lost.append(loss(os.path.join(os.path.dirname(contestant.program), "slabinfo"), contestant, process))
    samples = [(s, value) for s, value in process.since(begin) if s <= seconds]
    yield from ((case, 0, metric, value) for metric, value in (
        ("resident", samples[-1][1]), ("most", max(value for _, value in samples)),
        ("growth", second_half(samples))))
    if lost:
        yield case, 0, "loss", lost[-1]
    yield from ((case, int(s) + 1, "at", value) for s, value in samples)


def loss(slabinfo, contestant, process):
    """Per cent of the slabs' bytes that no object in use takes."""
    ran = subprocess.run([slabinfo, "--pid", str(process.pid), "--json"], env=contestant.environment, text=True,
                         capture_output=True, timeout=30, check=False)
    if ran.returncode:
        raise Failed(f"slabinfo: {ran.stderr.strip()}")
    caches = json.loads(ran.stdout)["caches"]
    slabs = sum(cache["slab_bytes"] for cache in caches)
    return (1 - sum(cache["objects"] * cache["object_size"] for cache in caches) / slabs) * 100


def small(contestant, processes):
    """Fresh processes; nothing looks at them while they measure time."""
    start, above, took = [], {"caches": [], "classes": []}, {}
    for what in list(above) * processes:
        process = Process(contestant, ["small", what])
        try:
            marks = []
            for mark in ("start", "end"):
                for _ in process.lines(mark):
                    continue
                marks.append(bench.resident(process.pid))
                process.go()
            start.append(marks[0])
            above[what].append(marks[1] - marks[0])
            for line in process.lines("done"):
                _, size, ns = line.split()
                took.setdefault(int(size), []).append(int(ns) * 1e-9)
        finally:
            process.end()
    first, *further = [statistics.median(times) for _, times in sorted(took.items())]
    for metric, value in (("start", statistics.median(start)), ("first", first),
                          *((what, statistics.median(values)) for what, values in above.items()),
                          ("further", statistics.median(further)), ("slowest", max(further))):
        yield "small", 0, metric, value
