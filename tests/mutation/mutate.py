#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Change lines of the allocator at random, one at a time, and see whether a test notices.

usage: ./run mutate [N [SEED [FIRST]]]
N changes, 60 by default, are in the table; the same SEED, 1 by default, draws the same. FIRST goes
on with an earlier run, which was stopped, from the FIRST-th change that was drawn.

Works in a copy of the tree, build/mutation. The tests of the changed file's room come first, then
the others, stress tests last, each from the fastest to the slowest as far as they have been run;
the first failure ends it. A case that fails is run again, since chance may fail it, and once without
the change, alone and with the other cases of its program; if one fails there, too, the program is
left out from then on. A case that takes a minute
hangs. What the compiler rejects, or turns into the same machine code, is not counted; nor what
equivalent.txt lists. Exit status 1: less than nine in ten were caught. The table, build/mutation.md,
is written after each change; SIGINT and SIGTERM end the run.
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
CALL_ENGINES = {"percpu", "alloc"}  # folders whose tests are run on other engines, too
# On a busy machine its estimates may be wrong whatever was changed, so it judges changes of its own
# room alone.
STATISTICAL = "count_rate_test"
CASE_SECONDS = 60
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


def is_other_engine(test):
    """Than the machine's."""
    return test.name.endswith((".cmpxchg16b", ".mutex"))


class Tests:
    """The tests, and the seconds that each took when it passed last."""

    def __init__(self):
        self.all = [test for test in copied.tests()
                    if not is_other_engine(test) or test.folder in CALL_ENGINES]
        self.seconds = {}

    def passed(self, run):
        self.seconds[run.test] = time.monotonic() - run.started

    def leave_out(self, test):
        print(f"   {test.name} fails without a change: left out", flush=True)
        self.all.remove(test)

    def order(self, path):
        """First the room's own tests, then those of others, then stress tests, each from the
        fastest on. Other engines than the machine's and other page sizes are for the files that
        know of them, the statistical test for its room; the tests of cpu_cache know nothing of
        slab/."""
        folder = Path(path).parent.name

        def is_of_use(test):
            if is_other_engine(test):
                return folder == "cpu_cache"
            if ".page" in test.name:
                return folder == "pages"
            if test.name.startswith(STATISTICAL):
                return folder == test.folder
            return test.folder == folder or test.folder != "cpu_cache"

        def rank(test):
            return test.is_stress, test.folder != folder, self.seconds.get(test, 0)
        return sorted(filter(is_of_use, self.all), key=rank)


def link(programs, change):
    if not copied.build(programs, JOBS):
        sys.exit(f"run: {change.path} with {change.text()}: the tests cannot be linked")


def verdict(change, tests):
    """The run of a test that notices, and how; None: none does."""
    queue = tests.order(change.path)
    found = []

    def note(run, how):
        if how == "passed":
            tests.passed(run)
        else:
            found.append((run, how))
        return bool(found)

    while queue:
        chunk = queue[:CHUNK]
        del queue[:CHUNK]
        copied.progress(f"{change.path}:{change.line}: {len(queue)} tests to go")
        link([test.program for test in chunk], change)
        copied.run_all(chunk, CASE_SECONDS, RUNS, note)
        if found:
            run, how = found.pop()
            if not passes(run.test, run.suspect()) or not passes(run.test):
                return run, how
            queue = chunk[chunk.index(run.test) + 1:] + queue
    return None


def passes(test, only=None):
    """Whether a test passes now, or one case of it."""
    how = []
    copied.run_all([test], CASE_SECONDS, 1, lambda _, end: how.append(end), only)
    return how == ["passed"]


def judged(change, tests):
    """What becomes of a change; None: it does not count."""
    while True:
        with Mutant(change) as mutant:
            if not mutant.counts():
                return None
            found = verdict(change, tests)
        if not found:
            return "SURVIVED"
        run, how = found
        link([run.test.program], change)
        if passes(run.test, run.suspect()) and passes(run.test):
            return f"{run.test.name} {how}: {run.suspect() or 'no case'}"
        tests.leave_out(run.test)


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
        link([copied.object_of(self.change.path)], self.change)
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
    """What became of the changes so far, after these rows of an earlier run: written with each."""

    def __init__(self, rows=()):
        self.rows = list(rows)

    def add(self, change, result):
        text = change.text().replace("|", "\\|")
        self.rows.append(f"| {change.path}:{change.line} | {change.kind} | {text} | {result} |")
        head = ["| line | kind | change | result |", "|---|---|---|---|"]
        RESULT.write_text("\n".join(head + self.rows) + "\n")

    def tried(self):
        return sum("| equivalent: " not in row for row in self.rows)

    def caught(self):
        return self.tried() - sum(row.endswith("| SURVIVED |") for row in self.rows)


def earlier_rows():
    return RESULT.read_text().splitlines()[2:] if RESULT.exists() else []


def try_all(count, seed, first, tests, table):
    reasons = equivalents()
    drawn = changes.drawn(copied.TREE, random.Random(seed))
    for at, change in enumerate(drawn, 1):
        if table.tried() >= count:
            return
        if at < first:
            continue
        started = time.monotonic()
        reason = reasons.get((change.path, *sides_of(change)))
        if reason:
            table.add(change, f"equivalent: {reason}")
            continue
        result = judged(change, tests)
        if not result:
            continue
        table.add(change, result)
        copied.progress("")
        print(f"{table.tried()}/{count} {change.path}:{change.line} {change.text()}: {result}, "
              f"{time.monotonic() - started:.0f} s, drawn as {at}", flush=True)


def main(words):
    if len(words) > 3:
        refuse("mutate takes a number of changes, a seed and the first change")
    count = number(words[0] if words else "60", "number of changes")
    seed = number(words[1] if len(words) > 1 else "1", "seed")
    first = number(words[2] if len(words) > 2 else "1", "number of a change")
    os.nice(5)
    for stops in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stops, signal.default_int_handler)
    print(f"== copying the tree to {copied.TREE}", flush=True)
    copied.update()
    copied.configure()
    tests = Tests()
    print(f"== trying {count} changes, seed {seed}", flush=True)
    table = Table(earlier_rows() if first > 1 else ())
    try:
        try_all(count, seed, first, tests, table)
    finally:
        print(f"== {table.caught()} of {table.tried()} caught; the table is {RESULT}")
    return 0 if table.caught() >= WANTED * table.tried() else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
