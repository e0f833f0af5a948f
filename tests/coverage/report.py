#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report.py INFO: what lcov counted of slab/ and cpu_cache/, by folder, against the goals. Exit status
1 when one is missed.
"""

import collections
import pathlib
import sys

GOALS = {"lines": 94.0, "branches": 85.0}
# The tests of this folder run programs with the libraries that users get, which do not count.
ELSEWHERE = "slab/control"


class Counts:
    """Lines and branches of a folder: executed, and in all."""

    def __init__(self):
        self.lines = [0, 0]
        self.branches = [0, 0]

    def add(self, other):
        for mine, more in ((self.lines, other.lines), (self.branches, other.branches)):
            mine[0] += more[0]
            mine[1] += more[1]


def tally(pair, executed):
    pair[0] += executed
    pair[1] += 1


def read_info(info, root):
    """The counts of the source files of a tracefile, by path, those below root."""
    files, counts = {}, Counts()
    for record in pathlib.Path(info).read_text().splitlines():
        key, _, value = record.partition(":")
        fields = value.split(",")
        if key == "SF":
            path = pathlib.Path(value).resolve()
            path = path.relative_to(root).as_posix() if root in path.parents else value
            counts = files.setdefault(path, Counts())
        elif key == "DA":
            tally(counts.lines, int(fields[1]) > 0)
        elif key == "BRDA":
            tally(counts.branches, fields[3] not in ("-", "0"))
    return {path: counts for path, counts in files.items() if path.startswith(("slab/", "cpu_cache/"))}


def percent(pair):
    return 100.0 * pair[0] / pair[1] if pair[1] else 100.0


def print_table(files):
    folders = collections.defaultdict(Counts)
    whole = Counts()
    for path, counts in files.items():
        folder = str(pathlib.PurePath(path).parent)
        folders[folder].add(counts)
        if folder != ELSEWHERE:
            whole.add(counts)
    print(f"{'folder':24} {'lines':>18} {'branches':>18}")
    for name, counts in [*sorted(folders.items()), (f"all but {ELSEWHERE}", whole)]:
        cells = (f"{p[0]:5}/{p[1]:<5} {percent(p):5.1f}%" for p in (counts.lines, counts.branches))
        print(f"{name:24} " + " ".join(f"{cell:>18}" for cell in cells))
    return whole


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: report.py INFO")
    whole = print_table(read_info(sys.argv[1], pathlib.Path(__file__).resolve().parents[2]))
    missed = [name for name, goal in GOALS.items() if percent(getattr(whole, name)) < goal]
    for name in missed:
        print(f"coverage: {name} are below the goal of {GOALS[name]} %")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
