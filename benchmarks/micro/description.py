# SPDX-License-Identifier: MIT
"""Small cases under Google Benchmark: a process for each allocator and case."""
import json
import os
import re

from runner import Contestant, Process

QUESTION = "small cases under Google Benchmark"
SECONDS = (5, 300)
ROUNDS = (1, 9)
SIZES = ((64, 712), (16, 64, 240, 712, 2112))
METRICS = {"time": "ns"}
CASES = {"pair": "an allocation and its free", "bulk": "16 objects by bulk calls",
         "singles": "16 objects by single calls", "remote_free": "the free of an object of another thread"}
RIVALS = ("malloc",)
NAMES = {"slab": "slab", "slab_malloc": "slab-malloc", "malloc": "malloc"}


def contestants(build):
    return [Contestant(name, os.path.join(build, "bin", "micro"), SLAB_CONTROL="off") for name in NAMES.values()]


def measure(contestant, cases, run):
    sizes, name = "|".join(map(str, run.sizes)), contestant.name.replace("-", "_")
    process = Process(contestant, ["--benchmark_format=json", f"--benchmark_filter=^{cases[0]}/{name}/({sizes})(/|$)",
                                   f"--benchmark_min_time={0.005 if run.quick else 0.5}"])
    try:
        text = "\n".join(process.lines())
    finally:
        process.end()
    for found in json.loads(text)["benchmarks"] if text else ():
        case, _, size = re.match(r"(\w+)/(\w+)/(\d+)", found["name"]).groups()
        yield case, int(size), "time", 1e9 / found["items_per_second"]
