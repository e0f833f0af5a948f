#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Table of benchmarks/latency/latency.c: run.py [SLABS [BUILD [PROGRAM]]]."""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PLACES = 5  # of each operation, those that held longest


def places(library, fields):
    """The functions that release locks, with the longest hold of each."""
    offsets = fields[::5]
    holds = list(zip(map(float, fields[1::5]), *(map(int, fields[n::5]) for n in (2, 3, 4))))
    if not offsets:
        return "-"
    command = ["addr2line", "-f", "-i", "-e", library, "-a"] + offsets
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    names, at = {}, None
    for line in text.splitlines():
        if line.startswith("0x"):
            at = int(line, 16)
            names[at] = []
        elif not line.startswith(("/", "?", ".")) and ":" not in line:
            names[at].append(line)
    longest = {}
    for offset, hold in zip(offsets, holds):
        found = [n for n in names[int(offset, 16)] if "lock" not in n] or names[int(offset, 16)]
        name = found[0] if found else offset
        longest[name] = max(hold, longest.get(name, (0, 0, 0, 0)))
    best = sorted(longest.items(), key=lambda item: -item[1][0])[:PLACES]
    return ", ".join(
        f"`{name}` {us:.0f} ({usual}; {above} of {count})"
        for name, (us, usual, count, above) in best
    )


def main():
    slabs = sys.argv[1] if len(sys.argv) > 1 else "1000000"
    build = sys.argv[2] if len(sys.argv) > 2 else os.path.join(HERE, "../../build")
    program = sys.argv[3] if len(sys.argv) > 3 else os.path.join(build, "bin/latency")
    library = os.path.realpath(os.path.join(build, "lib/libslab.so"))
    lines = ["| operation | ms | longest stall, µs | longest holds, µs (99.9 %; above 50) |", "|---|---|---|---|"]
    for more in ({}, {"SLAB_DECAY_MS": "200"}):
        environment = dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(library), **more)
        result = subprocess.run(
            [program, slabs], env=environment, check=True, stdout=subprocess.PIPE, text=True
        )
        for line in result.stdout.splitlines():
            what, ms, stall, sites = line.split("|")
            lines.append(f"| {what} | {ms} | {stall} | {places(library, sites.split())} |")
    os.makedirs(os.path.join(build, "bench"), exist_ok=True)
    with open(os.path.join(build, "bench/latency.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    print("\n".join(lines))


main()
