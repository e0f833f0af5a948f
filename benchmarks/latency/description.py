# SPDX-License-Identifier: MIT
"""What a large heap costs other threads: stalls beside an operation, and how long libslab's locks are held.
A lock's row is named by the operation and by the function that releases the lock.
"""
import os
import re
import subprocess

import runner
from runner import Contestant

QUESTION = "the cost of a large heap for other threads"
SECONDS = (6, 60)
ROUNDS = (1, 1)
OPTIONS = {"slabs": (100000, 1000000, "slabs of the heap, with an object in each")}
METRICS = {"time": "ms", "stall": "µs", "hold": "µs", "hold99.9": "µs", "above50": ""}
CASES = {"first": "a shrink, the first one", "shrink": "another one", "validate": "", "trim": "",
         "caches": "500 caches, created and destroyed", "cold": "20000 cold objects", "destroy": "",
         "decay": "a second of decay passes"}
TOGETHER = True


def contestants(build):
    return [Contestant("slab", os.path.join(build, "bin", "latency"))]


def measure(contestant, cases, run):
    library = os.path.realpath(os.path.join(run.build, "lib", "libslab.so"))
    environment = {"LD_LIBRARY_PATH": os.path.dirname(library)}
    figures = list(runner.program_figures(contestant, [run.options["slabs"]], **environment))
    figures += runner.program_figures(contestant, [run.options["slabs"]], SLAB_DECAY_MS="200", **environment)
    names = functions(library, {case.partition("@")[2] for case, *_ in figures} - {""})
    longest = {}
    for case, size, metric, value in figures:
        operation, _, offset = case.partition("@")
        if operation in cases:
            key = f"{operation}: {names[offset]}" if offset else operation, size, metric
            longest[key] = max(value, longest.get(key, 0))
    yield from ((*key, value) for key, value in longest.items())


def functions(library, offsets):
    """{offset: the innermost function there that is no helper of locks}"""
    if not offsets:
        return {}
    text = subprocess.run(["addr2line", "-f", "-i", "-a", "-e", library, *sorted(offsets)], check=True,
                          capture_output=True, text=True).stdout
    names = {}
    for block in re.split(r"^(?=0x)", text, flags=re.M)[1:]:
        address, *lines = block.splitlines()
        found = lines[::2]
        names[hex(int(address, 16))] = next((name for name in found if "lock" not in name), found[0])
    return names
