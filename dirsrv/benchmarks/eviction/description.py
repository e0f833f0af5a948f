# SPDX-License-Identifier: MIT
"""Hit rates of the entry cache's policy beside CLOCK and LRU.

dependencies  members of members: each package of the machine's catalogue, in random order, and
              what it depends on, also indirectly, each of them once
zipf          random lookups, by Zipf's law
"""
import os
import random
import re

import runner
from runner import Contestant

QUESTION = "which entries the entry cache keeps"
SECONDS = (10, 10)
ROUNDS = (1, 1)
METRICS = {"hit_rate": "%"}
CASES = {"dependencies": "members of members", "dependencies+searches": "the same with searches through all entries",
         "zipf": "random lookups by Zipf's law", "zipf+searches": "the same with searches through all entries"}
TOGETHER = True
SHOWN = ("S3-FIFO",)
RIVALS = ("CLOCK", "LRU")
CATALOGUE = "/var/lib/dpkg/status"


def contestants(build):
    return [Contestant(name, os.path.join(build, "bin", "eviction")) for name in ("S3-FIFO", "CLOCK", "LRU")]


def packages():
    """The names that each package depends on."""
    depends = {}
    with open(CATALOGUE, encoding="utf-8", errors="replace") as file:
        for record in file.read().split("\n\n"):
            name = re.search(r"^Package: (.*)$", record, re.M)
            if name:
                lists = re.findall(r"^(?:Pre-)?Depends: (.*)$", record, re.M)
                depends[name.group(1)] = re.findall(r"(?:^|[,|])\s*([a-z0-9.+-]+)", ",".join(lists))
    return depends


def write_dependencies(path):
    depends = packages()
    numbers = {name: number for number, name in enumerate(sorted(depends))}
    order = sorted(depends)
    random.Random(1).shuffle(order)
    with open(path, "w", encoding="ascii") as file:
        for package in order:
            found, queue = {package}, [package]
            while queue:
                name = queue.pop(0)
                file.write(f"{2 * numbers[name] + 1:x}\n")
                more = [m for m in depends[name] if m in depends and m not in found]
                found.update(more)
                queue.extend(dict.fromkeys(more))


def measure(contestant, cases, run):
    for lookups in ("dependencies", "zipf"):
        arguments = [contestant.name, lookups]
        if not any(case.startswith(lookups) for case in cases):
            continue
        if lookups == "dependencies":
            if not os.path.exists(CATALOGUE):
                continue
            arguments.append(os.path.join(run.build, "dependencies.trace"))
            write_dependencies(arguments[-1])
        yield from (figure for figure in runner.program_figures(contestant, arguments) if figure[0] in cases)
