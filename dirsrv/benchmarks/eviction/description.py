# SPDX-License-Identifier: MIT
"""Hit rates of the entry cache's policy beside CLOCK."""
import os

import runner
from runner import Contestant

QUESTION = "which entries the entry cache keeps"
SECONDS = (5, 5)
ROUNDS = (1, 1)
METRICS = {"hit_rate": "%"}
CASES = {"zipf": "random lookups by Zipf's law", "zipf+searches": "the same with searches through all entries"}
TOGETHER = True
SHOWN = ("S3-FIFO",)
RIVALS = ("CLOCK",)


def contestants(build):
    return [Contestant(name, os.path.join(build, "bin", "eviction")) for name in ("S3-FIFO", "CLOCK")]


def measure(contestant, cases, _run):
    for figure in runner.program_figures(contestant, [contestant.name]):
        if figure[0] in cases:
            yield figure
