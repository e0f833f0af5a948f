# SPDX-License-Identifier: MIT
"""slab-perf report: the tables of a recording."""
import json

from . import table
from .failure import Failure
from .record import FORMAT

TABLES = ("cache", "caller", "cpu")
LISTS = {"allocations": 7, "frees": 4}


def _is_row(row, length):
    """[cache, call site, CPU, counts…]"""
    return (isinstance(row, list) and len(row) == length and isinstance(row[0], str) and
            isinstance(row[1], (str, int)) and all(isinstance(n, int) for n in row[2:]))


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}; slab-perf record writes a recording") from error
    except ValueError as error:
        raise Failure(f"{path} is no recording of slab-perf: it is not JSON") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise Failure(f"{path} is no recording of slab-perf, or one of another version "
                      f"(this one reads '{FORMAT}')")
    if not {"program", "pid", "seconds"} <= set(data):
        raise Failure(f"{path} is damaged: it does not say what was recorded")
    for name, length in LISTS.items():
        rows = data.get(name)
        if not isinstance(rows, list) or not all(_is_row(row, length) for row in rows):
            raise Failure(f"{path} is damaged: its list '{name}' is missing or has a wrong row")
    return data


def by(data, key):
    """{key(row): [misses, slow, failed, ns, slow frees]} over allocations and frees."""
    sums = {}
    for name, first in (("allocations", 0), ("frees", 4)):
        for row in data[name]:
            total = sums.setdefault(key(row), [0] * 5)
            for i, count in enumerate(row[3:]):
                total[first + i] += count
    return sums


def columns(counts):
    misses, slow, failed, ns, frees = counts
    return [misses, slow, failed, ns / slow / 1000 if slow else None, frees]


HEAD = ["alloc miss", "slow", "failed", "mean us", "free slow"]


def most_first(sums):
    return sorted(sums.items(), key=lambda item: (-item[1][0] - item[1][1] - item[1][4], item[0]))


def show_cache(data):
    sums = by(data, lambda row: row[0])
    table.show(["cache", *HEAD],
               [[cache, *columns(counts)] for cache, counts in most_first(sums)])


def show_caller(data):
    sums = by(data, lambda row: (row[1], row[0]))
    table.show(["call site", "cache", *HEAD],
               [[site, cache, *columns(counts)] for (site, cache), counts in most_first(sums)])


def show_cpu(data):
    sums = by(data, lambda row: row[2])
    table.show(["CPU", *HEAD], [[str(cpu), *columns(sums[cpu])] for cpu in sorted(sums)])


def run(options):
    data = read(options.input)
    print(f"{data['seconds']} s of {data['program']} ({data['pid']})")
    for name in options.sort or TABLES:
        print()
        {"cache": show_cache, "caller": show_caller, "cpu": show_cpu}[name](data)
