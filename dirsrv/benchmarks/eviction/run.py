#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Table of dirsrv/benchmarks/eviction/eviction.c: run.py [BUILD]. Three kinds of lookups:

directory     those of the example directory in a second of load, which choose entries uniformly
dependencies  members of members: each package of the machine's catalogue, in random order, and
              what it depends on, also indirectly
zipf          random ones, by Zipf's law
"""
import os
import random
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CATALOGUE = "/var/lib/dpkg/status"
LDIF = os.path.join(HERE, "../../directory/people.ldif")
POLICIES = ["S3-FIFO", "CLOCK", "LRU"]


def record_directory(build, path):
    """The lookups of dirsrv/directory."""
    library = os.path.join(build, "lib/record_lookups.so")
    environment = dict(os.environ, LD_PRELOAD=library, EVICTION_TRACE=path)
    command = [os.path.join(build, "bin/directory"), "--seconds", "1",
               "--entries", "20000", "--threads", "1", "--ldif", LDIF]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def packages():
    """The names that each package depends on."""
    depends = {}
    with open(CATALOGUE, encoding="utf-8", errors="replace") as file:
        for record in file.read().split("\n\n"):
            name = re.search(r"^Package: (.*)$", record, re.M)
            if name:
                lists = re.findall(r"^(?:Pre-)?Depends: (.*)$", record, re.M)
                depends[name.group(1)] = re.findall(r"(?:^|[,|])\s*([a-z0-9.+-]+)",
                                                    ",".join(lists))
    return depends


def record_dependencies(path):
    """Each package once, and all it leads to, each of them once."""
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


def rows(program, name, *trace):
    result = subprocess.run([program, name, *trace], check=True, stdout=subprocess.PIPE, text=True)
    return [line.split() for line in result.stdout.splitlines()]


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "../../../build")
    out = os.path.join(build, "bench")
    os.makedirs(out, exist_ok=True)
    program = os.path.join(build, "bin/eviction")
    traces = {name: os.path.join(out, f"eviction-{name}.trace")
              for name in ("directory", "dependencies")}
    record_directory(build, traces["directory"])
    found = rows(program, "directory", traces["directory"])
    if os.path.exists(CATALOGUE):
        record_dependencies(traces["dependencies"])
        found += rows(program, "dependencies", traces["dependencies"])
    found += rows(program, "zipf")
    lines = ["| lookups | entries | number | cache, % of entries | " +
             " | ".join(f"{name}, % hits" for name in POLICIES) + " |",
             "|---|" + "--:|" * (3 + len(POLICIES))]
    lines += ["| " + " | ".join(row) + " |" for row in found]
    with open(os.path.join(out, "eviction.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    print("\n".join(lines))


main()
