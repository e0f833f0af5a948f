# SPDX-License-Identifier: MIT
"""libslab in malloc's place: a process runs one case with one library."""
import os
import time

import bench
import runner
from runner import Goal, Process

QUESTION = "libslab in malloc's place: classic loads, large blocks, small programs"
SECONDS = (10, 1800)
OPTIONS = {"idle": (2, 15, "seconds of idle time after which memory is read again")}
METRICS = {"time": "ms", "peak": "MiB", "resident": "MiB", "idle": "MiB", "faults": "",
           "user": "ms", "system": "ms", "lost": "MiB"}
HEADS = {"time": ("time",), "memory": ("peak", "resident", "idle")}
CASES = {
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
SHORT = {"cases": "larson|threads|remote|directory|grow.strings|program",
         "contestants": "slab,glibc,jemalloc"}
IDLE_CASES = ("larson", "threads.8", "stress", "remote", "directory.ns-slapd", "directory.slapd", "classes")
# What is judged by counts, or takes no time, is always done whole.
WHOLE = ("large.", "grow.", "classes", "limit", "program.bash")
QUICK_PERCENT = 10
# Below these, a ratio says nothing: differences of a few pages or of a timer.
NEGLIGIBLE = {"user": 5e-3, "system": 5e-3, "faults": 32, "peak": 1 << 18, "resident": 1 << 18,
              "idle": 1 << 18}
MEMORY = ("larson", "threads.1", "threads.8", "stress", "remote", "migrate.pinned", "migrate.moving",
          "directory.ns-slapd", "directory.slapd", "program.python", "program.perl")
TIMED = (*MEMORY, "scratch", "thrash", "grow.strings", "grow.strings_in_turn")
GOALS = [
    *(Goal(case, "time", 0.9 if case == "directory.ns-slapd" else 1.0) for case in TIMED),
    *(Goal(case, "peak", 1.0) for case in MEMORY),
    *(Goal(case, "resident", 1.0) for case in MEMORY if not case.startswith("program.")),
    *(Goal(case, "idle", 0.6) for case in IDLE_CASES),
    *(Goal(case, metric, limit, ("glibc", case)) for case, metric, limit in (
        ("large.touch", "peak", 1.0), ("large.calloc", "time", 1.0), ("large.calloc", "faults", 1.0),
        ("large.pairs", "time", 2.0), ("large.pairs", "faults", 1.0), ("grow.vector", "time", 1.0))),
    Goal("grow.strings", "faults", 1.2), Goal("classes", "resident", 100 << 20, None), Goal("limit", "lost", 1.0),
    Goal("program.bash", "time", 1.6e-3, None), Goal("program.bash", "faults", 250, None),
    Goal("program.bash", "peak", 4 << 20, None),
]


def contestants(build):
    return runner.from_libraries(os.path.join(build, "bin", "malloc-cases"), probe=("grow.strings", 1))


def measure(contestant, cases, run):
    case = cases[0]
    percent = QUICK_PERCENT if run.quick and not case.startswith(WHOLE) else 100
    # A case that starts programs does without the library and gives it to them.
    more = {"LD_PRELOAD": "", "BENCH_PRELOAD": contestant.library} if case.startswith("program.") else {}
    process = Process(contestant, [case, percent], **more)
    try:
        for line in process.lines("end"):
            metric, value = line.split()
            yield case, 0, metric, float(value)
        ended = time.monotonic()
        if case in IDLE_CASES and run.options["idle"]:
            yield runner.IDLE
            time.sleep(max(ended + run.options["idle"] - time.monotonic(), 0))
            yield case, 0, "idle", bench.resident(process.pid)
    finally:
        process.end()
