# SPDX-License-Identifier: MIT
"""Pblocks of single operations of a server, split and flat, and hits in the entry cache."""
import os

import runner
from runner import Contestant, Process

QUESTION = "the cost of pblocks, and of a hit in the entry cache"
SECONDS = (5, 60)
ROUNDS = (1, 5)
OPTIONS = {"laps": (2000, 20000, "times that a process repeats an operation"),
           "seconds": (0.2, 1.0, "of each measurement of the entry cache")}
METRICS = {"time": "ns"}
OPERATIONS = ("search", "internal-search", "add", "modify", "delete", "bind", "plugin-registration")
HITS = {"hit.few": "a lookup among 64 entries, in one of so many threads",
        "hit.all": "the same at random among 10,000 entries"}
CASES = {name: "all calls of one operation, its pblocks from new to destroy" for name in OPERATIONS} | HITS
SHOWN = ("split", "cache")
RIVALS = ("flat",)
BUILT = ("pblock-replay", "pblock-replay-v1", "pblock_workloads", "entry-cache-bench")


def contestants(build):
    programs = {"split": "pblock-replay", "flat": "pblock-replay-v1", "cache": "entry-cache-bench"}
    return [Contestant(name, os.path.join(build, "bin", program), SLAB_CONTROL="off")
            for name, program in programs.items()]


def measure(contestant, cases, run):
    if contestant.name == "cache" and cases[0] in HITS:
        entries = {"hit.few": 64, "hit.all": 10000}[cases[0]]
        arguments = [cases[0], entries, os.cpu_count(), run.options["seconds"]]
        yield from runner.program_figures(contestant, arguments)
    elif contestant.name != "cache" and cases[0] in OPERATIONS:
        trace = os.path.join(run.build, "pblock", cases[0] + ".trace")
        process = Process(contestant, [f"--rounds={run.options['laps']}", trace])
        process.line()
        yield cases[0], 0, "time", float(process.line().split()[3]) * 1000
        process.end()
