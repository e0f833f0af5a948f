# SPDX-License-Identifier: MIT
"""The samples of a run, row by row: one for each round.

Laps within a process depend on its layout of memory, and samples within a round on the moment of the machine.
Several figures of a row in one round are therefore one sample: their median.
"""
import collections
import csv
import json
import os
import re
import statistics

import preload
import report

# kind: what more of it means: "time" slower, "rate" faster, "amount" more.
# control: of an allocator or server that is not the project's.
Row = collections.namedtuple("Row", "values kind control")

OTHERS = set(preload.RIVALS) | {"gslice", "dpdk", "empty", "malloc", "slapd", "ns-slapd", "SLAB",
                                "sheaves", "slob"}
TIMES = re.compile(r"time|user|system|cpu|p50|p90|p99(\.9)?|.*\.p99|max|first of .*|.*\.ns")
RATES = re.compile(r"rate|got\..*")
NO_KEY = ("round", "value", "seconds", "share")
JSON = ("micro.json", "pblock.json")
ENOUGH = 4  # rounds: with fewer no row can be shown to differ (compare.rounds_needed(1))
NO_SAMPLE = ("curve", "growth", "count")  # a curve's points; per cent around 0


class Bad(Exception):
    """A file or folder has no samples; the text says why."""


class Failed(Exception):
    """A program of a build failed; the text says how."""


def kind_of(metric):
    if RATES.fullmatch(metric):
        return "rate"
    return "time" if TIMES.fullmatch(metric) else "amount"


class Samples:
    """Figures on their way to rows. shortest: of objects and slides, the shortest lap of a
    process instead of the median of its laps.
    """

    def __init__(self, shortest):
        self.shortest = shortest
        self.found = collections.defaultdict(lambda: collections.defaultdict(list))
        self.about = {}

    def add(self, key, turn, value, kind, control):
        """One figure of the round `turn`; key: the words of the row's name."""
        self.found[key][turn].append(float(value))
        self.about[key] = kind, control

    def rows(self):
        return {" ".join(filter(None, key)): Row([statistics.median(turns[turn]) for turn in sorted(turns)],
                                   *self.about[key]) for key, turns in self.found.items()}


def read_objects(name, rows, samples):
    """The object benchmark: rings of CPUs that were far apart are another row's."""
    time = "ns_min" if samples.shortest else "ns"
    far = report.far_rings(rows)
    mostly = sum(far.values()) * 2 > len(far)
    for row in rows:
        case = row["case"]
        if case in report.RING_CASES and far.get(report.ring_of(row), mostly) != mostly:
            continue
        memory = case.startswith("memory.")
        samples.add((name, row["contestant"], case, row["bytes"]), row["round"],
                    row["resident" if memory else time], "amount" if memory else "time",
                    row["contestant"] in OTHERS)


def read_slides(name, rows, samples):
    """The slides' tables: of each process the median and the minimum of a row."""
    for row in rows:
        if row["median"]:
            memory = row["row"].startswith(("memory", "trapped", "unused"))
            samples.add((name, row["contestant"], row["row"], row["bytes"]), row["round"],
                        row["minimum" if samples.shortest and not memory else "median"],
                        "amount" if memory else "time", row["contestant"] in OTHERS)


def read_long(name, rows, samples):
    """A figure a line: columns of names, and "value"."""
    keys = [key for key in rows[0] if key not in NO_KEY]
    for row in rows:
        words = tuple(row[key] for key in keys)
        if words[-1] in NO_SAMPLE:
            continue
        who = row.get("contestant", row.get("server", ""))
        samples.add((name, *words), row["round"], row["value"], kind_of(words[-1]), who in OTHERS)


def read_csv(name, path, samples):
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    header = set(rows[0]) if rows else set()
    try:
        if {"round", "contestant", "case", "bytes", "ns", "resident"} <= header:
            read_objects("objects", rows, samples)
        elif {"round", "row", "median", "minimum"} <= header:
            read_slides(name, rows, samples)
        elif {"round", "value"} <= header:
            read_long(name, rows, samples)
        elif rows:
            raise Bad(f"{path} has no columns 'round' and 'value'")
    except (TypeError, ValueError) as error:
        raise Bad(f"{path} has a line that is no row of figures: {error}") from None


def read_google(name, path, samples):
    """Google Benchmark's JSON: its repetitions are the rounds. Cases that take the time themselves
    have it in real_time; of the others the CPU time suffers less from other programs.
    """
    with open(path, encoding="utf-8") as file:
        try:
            found = json.load(file)["benchmarks"]
        except (ValueError, KeyError, TypeError) as error:
            raise Bad(f"{path} is no output of Google Benchmark: {error}") from None
    for run in found:
        if run.get("run_type") == "iteration" and not run.get("error_occurred"):
            words = run["name"].split("/")
            time = run["real_time" if "manual_time" in words else "cpu_time"]
            samples.add((name, run["run_name"]), run.get("repetition_index", 0), time, "time",
                        bool(OTHERS & set(words)))


def read_pblock(name, path, samples):
    """The pblock benchmark's JSON: for each malloc a result of each process."""
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    figures = {"weighted": ("cost", "pblock", "ns"),
               "blocks": ("order", "size", "allocator", "ms_median")}
    for malloc, runs in found.items():
        for turn, run in enumerate(runs):
            for section, (*keys, value) in figures.items():
                for row in run[section]:
                    words = [str(row[key]) for key in keys]
                    samples.add((name, malloc, *words), turn, row[value], "time",
                                row.get("allocator") == "calloc")


def files_of(path):
    """[(benchmark, path)] of a run's folder, of a build's last runs, or of one file."""
    if os.path.isfile(path):
        return [("", path)]
    if not os.path.isdir(path):
        raise Bad(f"there is no '{path}'")
    if os.path.isdir(os.path.join(path, "bench")):
        path = os.path.join(path, "bench")
    files = [(os.path.splitext(name)[0], os.path.join(path, name))
             for name in sorted(os.listdir(path)) if name.endswith(".csv") or name in JSON]
    if not files:
        raise Bad(f"'{path}' has no results (NAME.csv, {', '.join(JSON)})")
    return files


def hint(folder):
    """What a run is worth for --compare, or None where it has no samples or enough of them."""
    try:
        rounds = [len(row.values) for row in read(folder).values() if not row.control]
    except (Bad, KeyError, ValueError):
        return None
    few = sum(count < ENOUGH for count in rounds)
    if not few:
        return None
    return (f"comparisons: {few} of {len(rounds)} rows have fewer than {ENOUGH} rounds, too few for --compare to "
            "show a difference; ./run bench --compare BEFORE/build build measures two builds in turns")


def read(path, shortest=False):
    """{name: Row} of a folder or file."""
    samples = Samples(shortest)
    for name, file in files_of(path):
        if os.path.basename(file) == "pblock.json":
            read_pblock(name, file, samples)
        elif file.endswith(".json"):
            read_google(name, file, samples)
        else:
            read_csv(name, file, samples)
    return samples.rows()
