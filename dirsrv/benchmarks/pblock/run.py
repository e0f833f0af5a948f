# SPDX-License-Identifier: MIT
"""Run pblock_life with the C library's malloc and with other mallocs, and entry_cache_bench.

A round runs one process of each, in a different order each time, so that a busy minute of the
machine does not always affect the same one. The result is the median of the rounds.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "..", "benchmarks", "support"))
import bench  # noqa: E402

PROCESS_TIMEOUT_S = 600
RIVALS = {
    "glibc": None,
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
}
# What is hoped for: ours of the C library's, of the time and of the page faults.
GOAL_BLOCKS_TIME, GOAL_BLOCKS_FAULTS = 0.25, 0.01
# Theirs once with access by a table like ours, once by a switch as the server had it.
SWITCH = "-switch"
GOAL_LIFE = {"v1": 0.30, "v1" + SWITCH: 0.30, "split389": 0.60, "split389" + SWITCH: 0.60}
GOAL_SEARCH_BYTES = 280
# "Ours of theirs" can be read in two ways, and each is judged: each pblock counts the
# same, or each nanosecond does.
READINGS = {"mean of ratios": "mean_ratio_of_v3", "ratio of weighted sums": "v3_of_it"}
GOAL_GROWTH = 0.01
REFILLS = 100
WEIGHT = ("pieces", "bytes", "lines", "filled")


def make_parser():
    parser = bench.Parser("pblock", "Lives of pblocks, flat and split, a million blocks of 240 and "
                          "712 bytes, on libslab and on malloc; lookups in the entry cache.")
    parser.add_argument("--quick", action="store_true", help="1 process each, with fewer rounds")
    parser.add_argument("--rounds", help="processes of each malloc, 1 to 99 (3)")
    parser.add_argument("--build", default="build", help=argparse.SUPPRESS)
    return parser


def start(program, arguments, preload=None):
    # Only the allocator is measured, not the thread that shows it to slabinfo.
    environment = dict(os.environ, SLAB_CONTROL="off")
    environment.pop("LD_PRELOAD", None)
    if preload:
        environment["LD_PRELOAD"] = preload
    return subprocess.run([program] + arguments, env=environment, text=True,
                          stdout=subprocess.PIPE, timeout=PROCESS_TIMEOUT_S, check=True).stdout


def run_all(program, rounds, quick):
    """{malloc: one result for each round}"""
    found = {name: bench.library(so) if so else "" for name, so in RIVALS.items()}
    for name in [name for name, path in found.items() if path is None]:
        print(f"bench pblock: {RIVALS[name]} is not installed: no {name}", file=sys.stderr)
        del found[name]
    results = {name: [] for name in found}
    arguments = ["--rounds=21", "--blocks=3"] if quick else []
    for turn in range(rounds):
        for name in bench.order(list(found), turn):
            print(f"round {turn + 1}/{rounds}  {name}", file=sys.stderr, flush=True)
            results[name].append(json.loads(start(program, arguments, found[name])))
    return results


def median_of(runs, section, where, value):
    """The median over processes of a value of the row that has all of `where`."""
    rows = [row for run in runs for row in run[section]
            if all(row[key] == wanted for key, wanted in where.items())]
    return statistics.median(row[value] for row in rows)


def verdict(good):
    return "met" if good else "MISSED"


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] + \
        ["| " + " | ".join(row) + " |" for row in rows] + [""]


def lives(results):
    """Times of the lives, weighted, and what the goals say of them."""
    rows, goals = [], []
    for row in results["glibc"][0]["weighted"]:
        where = {"cost": row["cost"], "pblock": row["pblock"]}
        rows.append([row["pblock"], row["cost"]] +
                    [f"{median_of(runs, 'weighted', where, 'ns'):.1f}"
                     for runs in results.values()])
        if row["pblock"] not in GOAL_LIFE:
            continue
        goal = GOAL_LIFE[row["pblock"]]
        for reading, kind in READINGS.items():
            ratio = median_of(results["glibc"], "weighted", where, kind)
            goals.append([f"v3 / {row['pblock']}", f"{row['cost']}, {reading}", f"{ratio:.2f}",
                          f"≤ {goal:.2f}", verdict(ratio <= goal)])
    return rows, goals


def memory(results):
    rows, goals = [], []
    for row in results["glibc"][0]["lives"]:
        if row["pblock"].endswith(SWITCH):
            continue  # the memory of the one without
        rows.append([row["workload"], row["pblock"]] +
                    [str(row[key]) for key in WEIGHT])
        if (row["workload"], row["pblock"]) == ("search", "v3"):
            goals.append(["pblock of a search", "bytes", str(row["bytes"]),
                          f"≤ {GOAL_SEARCH_BYTES}", verdict(row["bytes"] <= GOAL_SEARCH_BYTES)])
    return rows, goals


def block_row(runs, order, size, allocator):
    where = {"order": order, "size": size, "allocator": allocator}
    return {value: median_of(runs, "blocks", where, value)
            for value in ("ms_first", "ms_median", "faults_first", "faults_last")}


def blocks(results):
    rows, goals = [], []
    for order in ("pairs", "all"):
        for size in (240, 712):
            of = {f"calloc of {name}": block_row(runs, order, size, "calloc")
                  for name, runs in results.items()}
            base = of["calloc of glibc"]
            for allocator in ("slab_zalloc", "constructed"):
                of[allocator] = block_row(results["glibc"], order, size, allocator)
            rows += [[order, str(size), name, f"{row['ms_first']:.1f}", f"{row['ms_median']:.1f}",
                      f"{row['faults_first']:.0f}", f"{row['faults_last']:.0f}"]
                     for name, row in of.items()]
            if order == "pairs":
                continue  # the goal is about blocks that are all there at once
            ours, what = of["slab_zalloc"], f"a million of {size} bytes"
            time = ours["ms_median"] / base["ms_median"]
            goals.append([what, "time / glibc", f"{time:.2f}", f"≤ {GOAL_BLOCKS_TIME:.2f}",
                          verdict(time <= GOAL_BLOCKS_TIME)])
            for round_of in ("first", "last"):
                key = f"faults_{round_of}"
                few = ours[key] <= GOAL_BLOCKS_FAULTS * max(base["faults_last"], 1)
                goals.append([what, f"page faults, {round_of} round", f"{ours[key]:.0f}",
                              f"≤ {GOAL_BLOCKS_FAULTS:.0%} of {base['faults_last']:.0f}",
                              verdict(few)])
    return rows, goals


def entries(program, quick):
    """Lookups by threads, and resident bytes after each refill."""
    threads = str(len(os.sched_getaffinity(0)))
    lookups, resident = [], []
    for line in start(program, [threads, "0.3" if quick else "2", str(REFILLS)]).splitlines():
        word, number, value = line.split(" ", 2)
        if word == "lookup":
            lookups.append([number] + value.split())
        else:
            resident.append(int(value))
    growth = resident[-1] / resident[REFILLS // 2] - 1
    return lookups, [["entry cache refilled 100 times", "growth of the second half",
                      f"{growth:+.1%}", f"≤ {GOAL_GROWTH:.0%}", verdict(growth <= GOAL_GROWTH)]]


def report(machine, results, lookups, found):
    lines = ["# Pblocks", "", machine + ".", ""]
    lines += table(["", "", "", "goal", ""], found["goals"])
    lines += ["Cost of an average pblock, ns:", ""]
    lines += table(["pblock", "cost"] + list(results), found["lives"])
    lines += ["At the end of a life: lines are cache lines of all pieces, filled those of them",
              "in which anything but zeros stands.", ""]
    lines += table(["workload", "pblock", *WEIGHT], found["memory"])
    lines += ["A million blocks, zeroed; each row is a process of its own:", ""]
    lines += table(["order", "bytes", "", "ms first", "ms", "faults first", "faults"],
                   found["blocks"])
    lines += ["A hit in the entry cache, ns of one thread:", ""]
    lines += table(["threads", "64 entries", "10,000 entries at random"], lookups)
    return "\n".join(lines)


def plain(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                     for row in rows)


def main():
    parser = make_parser()
    args = parser.parse_args()
    rounds = parser.number("--rounds", args.rounds, 1 if args.quick else 3, 1, 99)
    binaries = os.path.join(args.build, "bin")
    programs = [os.path.join(binaries, name) for name in ("pblock_life", "entry_cache_bench")]
    for program in programs:
        if not os.access(program, os.X_OK):
            parser.refuse(f"{program} is not built; run ./run build first")
    machine = bench.machine()
    results = run_all(programs[0], rounds, args.quick)
    lookups, goals = entries(programs[1], args.quick)
    found = {}
    for name, part in (("lives", lives), ("memory", memory), ("blocks", blocks)):
        found[name], more = part(results)
        goals += more
    found["goals"] = goals
    base = os.path.join(args.build, "bench", "pblock")
    os.makedirs(os.path.dirname(base), exist_ok=True)
    with open(base + ".md", "w", encoding="utf-8") as file:
        file.write(report(machine, results, lookups, found))
    with open(base + ".json", "w", encoding="utf-8") as file:
        json.dump(results, file)
    print(plain(goals))
    shown = os.path.relpath(base)
    print(f"table: {shown}.md   all figures: {shown}.json")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("\nbench pblock: interrupted, nothing was written", file=sys.stderr)
        sys.exit(130)
