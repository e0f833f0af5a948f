# SPDX-License-Identifier: MIT
"""What debugging costs: debug flags alone and together, sampling, the heap profile; "none" is the rival."""
import os

import runner
from runner import Contestant

QUESTION = "the cost of debugging"
SECONDS = (4, 30)
ROUNDS = (1, 7)
METRICS = {"time": "ns", "memory": "bytes"}
CASES = {"pair": "an allocation and its free", "many": "10000 allocations, then their frees: of one",
         "memory": "what an object takes with all that is kept about it"}
SHOWN = ("F", "Z", "P", "U", "FZ", "FZP", "FZPU", "sampling", "profile")
RIVALS = ("none",)
TOGETHER = True


def contestants(build):
    return [Contestant(name, os.path.join(build, "bin", "debug-cost"), SLAB_CONTROL="off")
            for name in ("none", *SHOWN)]


def measure(contestant, cases, _run):
    for figure in runner.program_figures(contestant, [contestant.name]):
        if figure[0] in cases:
            yield figure
