#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report.py INFO LIST: what lcov counted of slab/ and cpu_cache/, by folder, against the goals;
and the lines that no test executed, without those that LIST explains.

Exit status 1 when a goal is missed, or more than TOLERATED lines are neither executed nor
explained: a few depend on what the threads of a test do at the same time.
"""

import collections
import fnmatch
import pathlib
import sys

GOALS = {"lines": 94.0, "branches": 85.0}
TOLERATED = 15
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


class File:
    """What lcov says of one source file."""

    def __init__(self, path):
        self.path = path
        self.counts = Counts()
        self.functions = []
        self.missed = []

    def function_at(self, line):
        """The function that the line belongs to; "" for one that is inlined everywhere."""
        before = [f for f in self.functions if f[0] <= line]
        return max(before)[1] if before else ""


def tally(pair, executed):
    pair[0] += executed
    pair[1] += 1


def read_info(info, root):
    """The files of a tracefile, those below root."""
    files, file = [], None
    for record in pathlib.Path(info).read_text().splitlines():
        key, _, value = record.partition(":")
        fields = value.split(",")
        if key == "SF":
            path = pathlib.Path(value).resolve()
            file = File(path.relative_to(root).as_posix() if root in path.parents else value)
            files.append(file)
        elif key == "FN":
            file.functions.append((int(fields[0]), fields[-1]))
        elif key == "DA":
            executed = int(fields[1]) > 0
            tally(file.counts.lines, executed)
            if not executed:
                file.missed.append(int(fields[0]))
        elif key == "BRDA":
            tally(file.counts.branches, fields[3] not in ("-", "0"))
    return [file for file in files if file.path.startswith(("slab/", "cpu_cache/"))]


def read_list(path):
    """The patterns of the list, FILE or FILE:FUNCTION, each below the heading that explains it."""
    patterns = []
    for line in pathlib.Path(path).read_text().splitlines():
        if line and not line.startswith(("#", "[")):
            patterns.append(line.strip())
    return patterns


def is_explained(place, patterns):
    return any(fnmatch.fnmatch(place, p) or fnmatch.fnmatch(place, p + ":*") for p in patterns)


def percent(pair):
    return 100.0 * pair[0] / pair[1] if pair[1] else 100.0


def print_table(files):
    folders = collections.defaultdict(Counts)
    whole = Counts()
    for file in files:
        folder = str(pathlib.PurePath(file.path).parent)
        folders[folder].add(file.counts)
        if folder != ELSEWHERE:
            whole.add(file.counts)
    print(f"{'folder':24} {'lines':>18} {'branches':>18}")
    for name, counts in [*sorted(folders.items()), (f"all but {ELSEWHERE}", whole)]:
        cells = (f"{p[0]:5}/{p[1]:<5} {percent(p):5.1f}%" for p in (counts.lines, counts.branches))
        print(f"{name:24} " + " ".join(f"{cell:>18}" for cell in cells))
    return whole


def unexplained(files, patterns):
    """Lines that no test executed and the list does not name, by function."""
    found = collections.defaultdict(list)
    for file in files:
        for line in sorted(set(file.missed)):
            place = f"{file.path}:{file.function_at(line)}"
            if not is_explained(place, patterns):
                found[place].append(line)
    return found


def is_there(pattern, root):
    """Whether the file of a pattern exists, and has the function that the pattern names."""
    name, _, function = pattern.partition(":")
    paths = list(root.glob(name))
    return bool(paths) and any(function.rstrip("*") in p.read_text() for p in paths)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: report.py INFO LIST")
    root = pathlib.Path(__file__).resolve().parents[2]
    files = read_info(sys.argv[1], root)
    patterns = read_list(sys.argv[2])
    whole = print_table(files)
    failed = False

    for name, goal in GOALS.items():
        if percent(getattr(whole, name)) < goal:
            print(f"coverage: {name} are below the goal of {goal} %")
            failed = True
    missed = unexplained(files, patterns)
    count = sum(map(len, missed.values()))
    if missed:
        print(f"coverage: {count} lines are neither executed nor in {sys.argv[2]}:")
        for place, lines in sorted(missed.items()):
            print(f"  {place}: {', '.join(map(str, lines))}")
    for pattern in patterns:
        if not is_there(pattern, root):
            print(f"coverage: {sys.argv[2]} names {pattern}, which is not there")
            failed = True
    sys.exit(1 if failed or count > TOLERATED else 0)


if __name__ == "__main__":
    main()
