# SPDX-License-Identifier: MIT
"""Print Google Benchmark's JSON as a table: a row for each case and size, a column for each
allocator, ns of an object: the median of the repetitions, and their least.
"""
import collections
import json
import re
import statistics
import sys

ALLOCATORS = ("slab", "slab_malloc", "malloc")
CASES = {"pair": "an allocation and its free", "bulk": "16 objects by bulk calls",
         "singles": "16 objects by single calls",
         "remote_free": "the free of an object of another thread"}
ORDER = {case: place for place, case in enumerate(CASES)}


def nanoseconds(run):
    return 1e9 / run["items_per_second"]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        found = json.load(file)
    cells = collections.defaultdict(list)
    for run in found["benchmarks"]:
        if run["run_type"] == "iteration" and not run.get("error_occurred"):
            case, allocator, size = re.match(r"(\w+)/(\w+)/(\d+)", run["name"]).groups()
            cells[case, int(size), allocator].append(nanoseconds(run))
    allocators = [name for name in ALLOCATORS if any(key[2] == name for key in cells)]
    context = found["context"]
    print(f"# Small cases\n\n- {context['host_name']}, {context['num_cpus']} CPUs, "
          f"{context['date']}, load {context['load_avg'][0]:.1f} at the start\n\n"
          "ns of an object: the median of the repetitions (their least).\n")
    print("| case | bytes | " + " | ".join(allocators) + " |")
    print("|---|---:|" + "---:|" * len(allocators))
    for case, size in sorted({key[:2] for key in cells}, key=lambda key: (ORDER[key[0]], key[1])):
        values = [cells.get((case, size, allocator)) for allocator in allocators]
        shown = [f"{statistics.median(v):.1f} ({min(v):.1f})" if v else "" for v in values]
        print(f"| {CASES[case]} | {size} | " + " | ".join(shown) + " |")


main()
