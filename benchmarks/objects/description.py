# SPDX-License-Identifier: MIT
"""The classic slab benchmark: a process of each contestant runs all cases and sizes."""
import os
import sys

import recording
import runner
from runner import Contestant, Goal

QUESTION = "the classic slab benchmark"
SECONDS = (30, 2400)
ROUNDS = (3, 9)
GOAL_SIZES = (64, 240, 712, 2112)
SIZES = (GOAL_SIZES, (16, 32, 64, 128, 240, 256, 512, 712, 1024, 2112, 4096, 8192))
TOGETHER = True
METRICS = {"ns": "ns", "resident": "MiB"}
OPTIONS = {"ms": (8, 8, "milliseconds of each measurement"),
           "trace": ("", "", "a recording for the case trace, instead of one of dirsrv/directory")}
BULK = (1, 2, 4, 8, 16, 32, 64, 128, 250)
HEADS = {"time": ("ns",), "memory": ("resident",)}
CASES = {
    "pair": "allocate and free at once",
    "in_order.alloc": "10000 allocations", "in_order.free": "their frees, in order",
    "random.alloc": "10000 allocations after frees in random order",
    "random.free": "10000 frees in random order",
    "cold.alloc": "10000 allocations in a fresh process", "cold.free": "their first frees",
    "all.pair": "pairs on all CPUs at once",
    "all.alloc": "10000 allocations on each CPU at once", "all.free": "their frees on each CPU at once",
    "all_to_one.alloc": "all CPUs allocate, one will free",
    "all_to_one.free": "one CPU frees what all allocated",
    "one_to_all.alloc": "one CPU allocates, all will free",
    "one_to_all.free": "all CPUs free what one allocated",
    "ring.1": "from thread to thread, one at a time", "ring.64": "from thread to thread, batches of 64",
    "ring.line": "a cache line from CPU to CPU, no allocator",
    "lifetimes": "free a random object and allocate one, in turns",
    "lifetimes.shared": "the same objects shared by two threads",
    "lifetimes.random": "a coin frees or allocates among 100000 live objects",
    "lifetimes.touched": "the same, a line written before each free",
    "lifetimes.random_2": "the same by 2 threads with 100000 objects each",
    "lifetimes.zipf": "ages of a Zipf distribution, 100000 live objects",
    "lifetimes.burst": "free 1 to 1000 at random, allocate as many",
    "survivors.alloc": "10000 allocations beside 90000 survivors",
    "survivors.free": "frees of a random tenth of 100000 objects",
    "trace": "allocations and frees of a directory, CPU time of each",
    "trace.elapsed": "the same, elapsed time of its CPUs",
    "threads.2": "2 threads in bursts of 500", "threads.64": "64 threads in bursts of 500",
    **{f"singles.{n}": f"{n} allocations and their frees by single calls" for n in BULK},
    **{f"bulk.{n}": "the same by one call each" for n in BULK},
    "memory.live": "resident with 100000 live objects", "memory.random": "resident after random lifetimes",
    "memory.trace": "resident at the end of the trace",
    "memory.idle_2": "resident when 2 threads became idle",
    "memory.idle_64": "resident when 64 threads became idle",
}
TRACED = ("trace", "trace.elapsed", "memory.trace")
SHORT = {"cases": "^(?!.*trace)", "contestants": "slab,glibc,jemalloc,tcmalloc,mimalloc", "sizes": [64, 712]}
PROBE = ("--cases", "pair", "--sizes", "64", "--laps", "1")
NAMED = ("SLAB", "sheaves", "slob")  # other designs: compared when they are named
RIVALS = tuple(name for name in runner.RIVALS if name not in NAMED)
FAR_NS = 150  # a cache line takes longer between CPUs that share no cache


def ns(limit, *cases, sizes=GOAL_SIZES, ours="slab"):
    return [Goal(case, "ns", limit, "rivals", sizes, ours) for case in cases]


GOALS = [
    *ns(0.80, "pair", "all.pair", "in_order.free", "random.free", "all.free", "lifetimes", "lifetimes.shared",
        "cold.alloc"),
    *ns(0.85, "in_order.alloc", "random.alloc", "all.alloc"), *ns(0.90, "threads.64"),
    *ns(1.00, "ring.1", "ring.64", sizes=(64, 240)), *ns(0.70, "ring.1", "ring.64", sizes=(712, 2112)),
    *ns(1.00, "lifetimes.random", sizes=(64,)), *ns(0.90, "lifetimes.random", sizes=(240, 712, 2112)),
    *ns(0.80, "trace", sizes=(0,)),
    Goal("bulk.16", "ns", 0.50, ("slab", "singles.16"), GOAL_SIZES),
    *ns(1.00, "pair", "in_order.alloc", "in_order.free", "random.alloc", "random.free", ours="slab-malloc"),
    *(Goal(case, "resident", 1.00, "rivals", GOAL_SIZES)
      for case in ("memory.live", "memory.random", "memory.idle_64")),
    Goal("memory.idle_64", "resident", 1.00, ("slab", "memory.idle_2"), GOAL_SIZES),
]


def contestants(build):
    def one(name, program, **more):
        # Only the allocator is measured, not the thread that shows it to slabinfo.
        return Contestant(name, os.path.join(build, "bin", program), PROBE, SLAB_CONTROL="off", **more)

    return [
        one("slab", "objects-slab", serves="libslab"), one("slab-lto", "objects-slab-lto", serves="libslab"),
        one("slab-malloc", "objects-slab-malloc", serves="libslab"),
        one("slab-cmpxchg16b", "objects-slab", serves="cmpxchg16b", SLAB_ENGINE="cmpxchg16b"),
        one("slab-mutex", "objects-slab", serves="mutex", SLAB_ENGINE="mutex"),
        *runner.from_libraries(os.path.join(build, "bin", "objects-malloc"), RIVALS, probe=PROBE),
        one("empty", "objects-empty", serves="empty"),
        one("SLAB", "objects-queued", serves="queued"), one("sheaves", "objects-sheaf", serves="sheaf"),
        one("slob", "objects-slob", serves="slob")]


# A search of SLOB visits each page of a list that has any free unit: 100000 objects take minutes.
MANY_OBJECTS = ("lifetimes", "survivors", "memory")


def measure(contestant, cases, run):
    if contestant.name == "slob":
        cases = [case for case in cases if not case.startswith(MANY_OBJECTS)]
    arguments = ["--ms", run.options["ms"], "--sizes", ",".join(map(str, run.sizes)),
                 "--cases", ",".join(cases)]
    if not cases:
        return
    if set(cases) & set(TRACED):
        arguments += ["--trace", recording.find(run.build, run.options["trace"])]
    yield from runner.program_figures(contestant, arguments)


def keep(rows):
    """Rings whose CPUs were as near as in most of them: a hypervisor may move them."""
    far = {(turn, who, size): value > FAR_NS for turn, who, case, size, metric, value in rows
           if (case, metric) == ("ring.line", "ns")}
    if not far:
        return rows
    mostly = sum(far.values()) * 2 > len(far)
    same = sum(value == mostly for value in far.values())
    if same < len(far):
        print(f"rings: in {same} of {len(far)} processes and sizes the two CPUs were {'far' if mostly else 'near'}; "
              "the ring rows show these only", file=sys.stderr)
    return [row for row in rows
            if row[2] not in ("ring.1", "ring.64") or far.get((row[0], row[1], row[3]), mostly) == mostly]
