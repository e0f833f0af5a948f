# SPDX-License-Identifier: MIT
"""Measure two builds in turns, so that a busy minute of the machine does not always meet the same
one: the object benchmark, a round of one process of each, the other first every second time.
"""
import os

import bench
import report
import run
import samples

CASES = "^(pair|in_order|random|ring|lifetimes|survivors)"
SIZES = "64,712"
MS = "8"  # of each measurement of a process
CONTESTANTS = ("slab", "glibc")  # the second is the control
ROUNDS = 9


def is_build(path):
    return os.path.exists(os.path.join(path, "bin", "objects-slab"))


def contestants_of(build):
    found = [run.Contestant(name, os.path.join(build, "bin")) for name in CONTESTANTS]
    for contestant in found:
        why = contestant.why_not()
        if why:
            raise samples.Failed(f"{build}: {contestant.name} cannot run: {why}")
    return found


def sizes_of(parser, text):
    return ",".join(str(parser.number("--sizes", word, 0, 8, 32768)) for word in text.split(","))


def arguments_of(parser, build, cases, sizes):
    """The options of a process; only cases that need no recording."""
    there = [case for case in run.all_cases(parser, os.path.join(build, "bin"))
             if case not in report.TRACE_CASES]
    return ["--ms", MS, "--sizes", sizes_of(parser, sizes or SIZES),
            "--cases", ",".join(parser.cases(cases or CASES, there))]


def measure(parser, builds, rounds, cases, sizes, results):
    """Folders of results below `results`, one for each of the two builds."""
    arguments = arguments_of(parser, builds[0], cases, sizes)
    contestants = [contestants_of(build) for build in builds]
    folders = [os.path.join(results, name) for name in ("A", "B")]
    for folder in folders:
        os.makedirs(folder)
    progress = bench.Progress(2 * rounds, rounds)
    files = [open(os.path.join(folder, "objects.csv"), "w", encoding="utf-8")
             for folder in folders]
    try:
        for file in files:
            file.write(report.CSV_HEADER + "\n")
        for turn in range(rounds):
            for which in (0, 1) if turn % 2 == 0 else (1, 0):
                progress.show(turn, builds[which])
                one_round(contestants[which], arguments, turn, files[which])
    finally:
        for file in files:
            file.close()
    progress.end()
    return folders


def one_round(contestants, arguments, turn, file):
    for contestant in contestants:
        def on_row(row, name=contestant.name):
            file.write(f"{turn + 1},{name},{row}\n")

        error = run.run_one(contestant, arguments, on_row)
        if error:
            raise samples.Failed(f"{contestant.program}: {error}")
