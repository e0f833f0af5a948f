#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Change lines of the allocator at random, one at a time, and see whether a test notices.

usage: ./run mutate [N [SEED]]    N changes, 60 by default; the same SEED, 1 by default, draws the same

Works in a copy of the tree, build/mutation. The tests of the changed file's room come first, then
the others, stress tests last, each from the fastest to the slowest; the first failure ends it. A
test that fails is run again, since chance may fail it; one that takes five times as long as without
the change, and 10 seconds more, hangs. What the compiler rejects, or turns into the same machine
code, is not counted; nor what equivalent.txt lists. Exit status 1: less than nine in ten were
caught. The table, build/mutation.md, is written after each change; SIGINT and SIGTERM end the run.
"""
import os
import random
import signal
import sys
import time
from pathlib import Path

import changes
import copied

HERE = Path(__file__).parent
JOBS = 2
RUNS = 4   # tests at a time, which mostly wait
WANTED = 0.9
CHUNK = 6  # programs that are linked at a time
RESULT = Path("build/mutation.md")


def refuse(text):
    print(f"run: {text}", file=sys.stderr)
    sys.exit(2)


def number(text, what):
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1 << 31:
        refuse(f"mutate takes a number of changes and a seed; '{text}' is no {what}")
    return int(text)


def equivalents():
    """The reasons why some changes change nothing: {(path, before, after): reason}."""
    reasons = {}
    for block in (HERE / "equivalent.txt").read_text().split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith("#")]
        if lines:
            path, before, after = lines[0], lines[1].strip("- "), lines[2].strip("+ ")
            reasons[path, before, after] = " ".join(line.strip() for line in lines[3:])
    return reasons


def sides_of(change):
    """The line before and after, as equivalent.txt has them."""
    return change.before.strip("- \t"), change.after.strip("+ \t")


class Baseline:
    """The tests that pass without a change, and the seconds that each takes."""

    def __init__(self):
        self.seconds = {}
        found = list(copied.tests())
        print(f"== building the {len({test.program for test in found})} programs of "
              f"{len(found)} tests", flush=True)
        if not copied.build([test.program for test in found], JOBS, quiet=False):
            sys.exit("run: the tests cannot be built")
        print("== running them without a change", flush=True)
        copied.run_all(found, lambda test: 300, RUNS, self.note)
        self.tests = sorted((test for test in found if test in self.seconds),
                            key=lambda test: self.seconds[test])
        for test in found:
            if test not in self.seconds:
                print(f"   {test.name} fails without a change: left out")
        total = sum(self.seconds.values())
        print(f"   {len(self.tests)} tests, {total:.0f} s in all", flush=True)

    def note(self, run, how):
        if how == "passed":
            self.seconds[run.test] = time.monotonic() - run.started
        copied.progress(f"{run.test.name} {how}")
        return False

    def limit(self, test):
        return 10 + 5 * self.seconds[test]

    def order(self, path):
        """First the room's own tests, then those of others, then stress tests, each from the
        fastest on. Other engines than the machine's and other page sizes are for the files that
        know of them; the tests of cpu_cache know nothing of slab/."""
        folder = Path(path).parent.name

        def is_of_use(test):
            if test.name.endswith((".cmpxchg16b", ".mutex")):
                return folder == "cpu_cache"
            if ".page" in test.name:
                return folder == "pages"
            return test.folder == folder or test.folder != "cpu_cache"
        return sorted(filter(is_of_use, self.tests),
                      key=lambda test: (test.is_stress, test.folder != folder))


def verdict(change, baseline):
    """The test that notices and how, or None: none does."""
    queue = baseline.order(change.path)
    found = []

    def note(run, how):
        if how != "passed":
            found.append((run.test, how))
        return bool(found)

    while queue:
        chunk = queue[:CHUNK]
        del queue[:CHUNK]
        copied.progress(f"{change.path}:{change.line}: {len(queue)} tests to go")
        if not copied.build([test.program for test in chunk], JOBS):
            sys.exit(f"run: {change.path} with {change.text()}: the tests cannot be linked")
        copied.run_all(chunk, baseline.limit, RUNS, note)
        if found and failed_again(found[0][0], baseline):
            return found[0]
        if found:
            queue = chunk[chunk.index(found[0][0]) + 1:] + queue
            found.clear()
    return None


def failed_again(test, baseline):
    again = []
    copied.run_all([test], baseline.limit, 1, lambda run, how: again.append(how) or True)
    return again[0] != "passed"


class Mutant:
    """A change while it is made: the copy has its line, and afterwards the old one."""

    def __init__(self, change):
        self.change = change
        self.file = copied.TREE / change.path

    def __enter__(self):
        self.source = self.file.read_text()
        lines = self.source.split("\n")
        assert lines[self.change.line - 1] == self.change.before
        lines[self.change.line - 1] = self.change.after
        self.code = copied.machine_code(self.change.path)
        self.file.write_text("\n".join(lines))
        return self

    def __exit__(self, *_):
        self.file.write_text(self.source)

    def counts(self):
        """Whether it compiles, to something else."""
        return copied.build([copied.object_of(self.change.path)], JOBS) \
            and copied.machine_code(self.change.path) != self.code


class Table:
    """The changes so far, and what became of them: written anew with each."""

    def __init__(self):
        self.rows = ["| line | kind | change | result |", "|---|---|---|---|"]
        self.tried = self.caught = 0

    def add(self, change, result):
        text = change.text().replace("|", "\\|")
        self.rows.append(f"| {change.path}:{change.line} | {change.kind} | {text} | {result} |")
        RESULT.write_text("\n".join(self.rows) + "\n")

    def add_tried(self, change, result, is_caught):
        self.tried += 1
        self.caught += is_caught
        self.add(change, result)


def try_all(count, seed, baseline, table):
    reasons = equivalents()
    for change in changes.drawn(copied.TREE, random.Random(seed)):
        if table.tried == count:
            return
        started = time.monotonic()
        reason = reasons.get((change.path, *sides_of(change)))
        if reason:
            table.add(change, f"equivalent: {reason}")
            continue
        with Mutant(change) as mutant:
            if not mutant.counts():
                continue
            found = verdict(change, baseline)
        result = f"{found[0].name} {found[1]}" if found else "SURVIVED"
        table.add_tried(change, result, bool(found))
        copied.progress("")
        print(f"{table.tried}/{count} {change.path}:{change.line} {change.text()}: {result}, "
              f"{time.monotonic() - started:.0f} s", flush=True)


def main(words):
    if len(words) > 2:
        refuse("mutate takes a number of changes and a seed")
    count = number(words[0] if words else "60", "number of changes")
    seed = number(words[1] if len(words) > 1 else "1", "seed")
    os.nice(5)
    for stops in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stops, signal.default_int_handler)
    print(f"== copying the tree to {copied.TREE}", flush=True)
    copied.update()
    copied.configure()
    baseline = Baseline()
    print(f"== trying {count} changes, seed {seed}", flush=True)
    table = Table()
    try:
        try_all(count, seed, baseline, table)
    finally:
        print(f"== {table.caught} of {table.tried} caught; the table is {RESULT}")
    return 0 if table.caught >= WANTED * table.tried else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
