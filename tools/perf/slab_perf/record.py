# SPDX-License-Identifier: MIT
"""slab-perf record: counts by cache, call site and CPU, in a file for slab-perf report.

The kernel counts, so the recording is as large as the program has call sites, however long it
takes. The file is JSON; FORMAT names its version.
"""
import json
import os

from . import bpf, symbols
from .failure import Failure

FORMAT = "slab-perf 2"

SITE = "[arg2, cpu, str(arg0)]"
BLOCKS = [
    ("alloc_miss", "", f"@misses{SITE} = count();"),
    ("bulk_miss", "", f"@misses{SITE} = count();"),
    ("alloc_slow_begin", "", f"@slow{SITE} = count(); @begin[tid, arg1] = nsecs;"),
    ("alloc_slow_end", "@begin[tid, arg1]",
     f"@ns{SITE} = sum(nsecs - @begin[tid, arg1]); delete(@begin[tid, arg1]);"),
    ("alloc_failed", "", f"@failed{SITE} = count();"),
    ("free_slow", "", f"@frees{SITE} = count();"),
]


def merge(maps, names, number, text):
    """Rows [cache, first key, CPU, count of each of the names]: one for each key of the maps."""
    rows = {}
    for column, name in enumerate(names):
        for key, count in maps.get(name, {}).items():
            first, cpu, cache = key.split(",", 2)
            row = rows.setdefault((cache, text(int(first)), int(cpu)), [0] * number)
            row[column] += count
    return [[*key, *counts] for key, counts in sorted(rows.items())]


def addresses(maps):
    return {int(key.split(",", 1)[0]) for name in ("misses", "slow", "ns", "failed", "frees")
            for key in maps.get(name, {})}


def recording(target, seconds, maps):
    names = symbols.names(target.maps, addresses(maps))
    return {
        "format": FORMAT,
        "program": target.name,
        "pid": target.pid,
        "seconds": round(seconds, 3),
        "allocations": merge(maps, ("misses", "slow", "failed", "ns"), 4, names.get),
        "frees": merge(maps, ("frees",), 1, names.get),
    }


def write(path, data):
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
            file.write("\n")
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error


def run(options):
    folder = os.path.dirname(os.path.abspath(options.output))
    if not os.access(folder, os.W_OK):
        raise Failure(f"{options.output}: the folder {folder} does not exist or is read-only")
    target, seconds, maps = bpf.trace(options, BLOCKS)
    write(options.output, recording(target, seconds, maps))
    print(f"{seconds:.1f} s of {target.name} ({target.pid}) recorded in {options.output}")
