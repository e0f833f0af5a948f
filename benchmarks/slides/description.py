# SPDX-License-Identifier: MIT
"""The tables of Lameter's slides (2015) and of the seed on the parameter block, for SLOB, SLAB, sheaves and
libslab. The slides' own figures stand beside them: they are of another machine and show proportions.
"""
import os

import runner
from runner import Contestant, Goal

QUESTION = "libslab, SLAB, SLOB and sheaves: the tables of Lameter's slides"
SECONDS = (10, 600)
ROUNDS = (1, 7)
SIZES = ((256,), (64, 256, 1024, 4096))
ALL_SIZES = SIZES[1]
OPTIONS = {"messages": (8, 40, "hackbench: messages of each sender to each receiver; the slide has 2000")}
METRICS = {"cycles": "cycles", "resident": "MiB", "used": "MiB", "time": "ms"}
FAST = {"in_order.alloc": "slide 28: alloc", "in_order.free": "slide 28: free", "pair": "slide 28: alloc/free",
        "all.alloc": "slide 28: alloc concurrent", "all.free": "slide 28: free concurrent"}
REMOTE = {"all_to_one.free": "slide 30: all allocate, one frees",
          "one_to_all.free": "slide 30: one allocates, all free"}
BULK = {"bulk.16": "slides 32 to 35: a batch of 16, allocation and free"}
CASES = {**FAST, **REMOTE, **BULK, "memory": "slide 26: memory after the same load",
         "hackbench": "slide 29", "block": "a million parameter blocks allocated, then freed"}
SHORT = {"cases": "^(?!hackbench|block)"}
PROGRAMS = {"slab": "slab", "SLAB": "queued", "sheaves": "sheaf", "slob": "slob"}
BLOCKS = (240, 712)
# SLOB visits each page of a list that has any free unit, so a million blocks take it 20 seconds.
LEFT_OUT = {("slob", "block")}


def published():
    """Cycles of slides 28, 30 and 35, KiB of slide 26 (SLOB has no counters), milliseconds of the seed."""
    cycles = {"SLAB (slide)": (66, 73, 102, 232, 984, 650, 761), "SLUB (slide)": (45, 70, 52, 90, 119, 595, 498, 17),
              "SLOB (slide)": (183, 173, 172, 3008, 3037, 2650, 2013)}
    for name, figures in cycles.items():
        for case, figure in zip([*FAST, *REMOTE, *BULK], figures):
            yield from ((name, case, size, "cycles", figure) for size in ALL_SIZES)
    yield "SLAB (slide)", "memory", 0, "resident", (29028 + 36532) << 10
    yield "SLUB (slide)", "memory", 0, "resident", (29852 + 32628) << 10
    yield from (("glibc (seed)", "block", size, "time", ms / 1e3) for size, ms in zip(BLOCKS, (177.4, 354.1)))


PUBLISHED = list(published())
GOALS = [
    *(Goal(case, "cycles", 0.8 if case.endswith("alloc") else 1.0) for case in FAST),
    *(Goal(case, "cycles", 0.5) for case in REMOTE), Goal("bulk.16", "cycles", 1.0),
    *(Goal(case, "cycles", 1.0, ("SLUB (slide)", case)) for case in ("in_order.alloc", "in_order.free", "pair", "bulk.16")),
    Goal("memory", "resident", 1.0), Goal("hackbench", "time", 1.0), Goal("block", "time", 1.0),
]


def contestants(build):
    return [Contestant(name, os.path.join(build, "bin", f"slides-{program}"), SLAB_CONTROL="off")
            for name, program in PROGRAMS.items()]


def measure(contestant, cases, run):
    case = cases[0]
    if (contestant.name, case) in LEFT_OUT:
        return
    if case in ("memory", "hackbench", "block"):
        for more in {"memory": [()], "hackbench": [(run.options["messages"],)],
                     "block": [(size,) for size in BLOCKS]}[case]:
            yield from runner.program_figures(contestant, [case, *more])
        return
    objects = contestant.program.replace("slides-", "objects-")
    yield from runner.program_figures(contestant, ["--cases", case, "--sizes", ",".join(map(str, run.sizes))],
                                      program=objects)
