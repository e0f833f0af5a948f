# SPDX-License-Identifier: MIT
"""Run pblock_life with the C library's malloc and with those that take its place.

A round is one process of each, in another order each time, so that a busy minute of the
machine does not always meet the same one. Of the rounds the median is told.
"""
import argparse
import glob
import json
import os
import re
import statistics
import subprocess
import sys

EXIT_USAGE = 2
PROCESS_TIMEOUT_S = 600
RIVALS = {
    "glibc": None,
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
}
# What is hoped for: ours of the C library's, of the time and of the page faults.
GOAL_BLOCKS_TIME, GOAL_BLOCKS_FAULTS = 0.25, 0.01
GOAL_LIFE = {"v1": 0.30, "split389": 0.60}
GOAL_SEARCH_BYTES = 280


def usage_error(text):
    print(f"bench pblock: {text}", file=sys.stderr)
    sys.exit(EXIT_USAGE)


class Parser(argparse.ArgumentParser):
    """argparse, with errors of one sentence."""

    def error(self, message):
        usage_error(f"{message}; --help lists the options")


def parse_arguments():
    parser = Parser(prog="./run bench pblock", description="Lives of pblocks, flat and split, and "
                    "a million blocks of 240 and 712 bytes, on libslab and on malloc.")
    parser.add_argument("--quick", action="store_true", help="1 process each, with fewer rounds")
    parser.add_argument("--rounds", default="3", help="processes of each malloc, 1 to 99 (3)")
    parser.add_argument("--build", default="build", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not re.fullmatch(r"[1-9][0-9]?", args.rounds):
        usage_error(f"--rounds wants a number from 1 to 99, not '{args.rounds}'")
    args.rounds = 1 if args.quick else int(args.rounds)
    return args


def library(name):
    """Where the dynamic linker would find a library to preload, or None."""
    for pattern in ("/usr/lib/*/", "/usr/lib/", "/usr/local/lib/"):
        for path in sorted(glob.glob(pattern + name)):
            return path
    return None


def run_once(program, preload, quick):
    # Only the allocator is measured, not the thread that shows it to slabinfo.
    environment = dict(os.environ, SLAB_CONTROL="off")
    environment.pop("LD_PRELOAD", None)
    if preload:
        environment["LD_PRELOAD"] = preload
    arguments = ["--rounds=21", "--blocks=3"] if quick else []
    done = subprocess.run([program, "--json"] + arguments, env=environment, text=True,
                          stdout=subprocess.PIPE, timeout=PROCESS_TIMEOUT_S, check=True)
    return json.loads(done.stdout)


def run_all(program, args):
    """{malloc: one result for each round}"""
    found = {name: library(so) if so else "" for name, so in RIVALS.items()}
    for name in [name for name, path in found.items() if path is None]:
        print(f"bench pblock: {RIVALS[name]} is not installed: no {name}", file=sys.stderr)
        del found[name]
    results = {name: [] for name in found}
    for turn in range(args.rounds):
        names = list(found)
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            results[name].append(run_once(program, found[name], args.quick))
    return results


def median_of(runs, section, where, value):
    """The median over processes of a value of the row that has all of `where`."""
    rows = [row for run in runs for row in run[section]
            if all(row[key] == wanted for key, wanted in where.items())]
    return statistics.median(row[value] for row in rows)


def verdict(good):
    return "" if good else "  MISSED"


def print_lives(results):
    print(f"{'cost of an average pblock, ns':34}" + "".join(f"{n:>10}" for n in results))
    first = results["glibc"][0]
    for row in first["weighted"]:
        where = {"cost": row["cost"], "pblock": row["pblock"]}
        cells = [median_of(runs, "weighted", where, "ns") for runs in results.values()]
        print(f"{row['pblock']:9} {row['cost']:24}" + "".join(f"{c:10.1f}" for c in cells))
    print()
    for pblock, goal in GOAL_LIFE.items():
        for row in first["weighted"]:
            if row["pblock"] != pblock:
                continue
            where = {"cost": row["cost"], "pblock": pblock}
            # Of differences of times, which may be small, only sums are worth a ratio.
            kind = "v3_of_it" if row["cost"].startswith("without") else "mean_ratio_of_v3"
            ratio = median_of(results["glibc"], "weighted", where, kind)
            print(f"v3 / {pblock:8} {row['cost']:24} {ratio:6.2f}  goal {goal:.2f}"
                  + verdict(ratio <= goal))


def print_memory(results):
    print(f"\n{'at the end of a life':18} {'pblock':9} {'pieces':>7} {'bytes':>7} {'lines':>7}")
    for row in results["glibc"][0]["lives"]:
        missed = (row["workload"], row["pblock"]) == ("search", "v3") \
            and row["bytes"] > GOAL_SEARCH_BYTES
        print(f"{row['workload']:20} {row['pblock']:9} {row['pieces']:5} {row['bytes']:7} "
              f"{row['lines']:7}" + verdict(not missed))


def block_row(runs, order, size, allocator):
    where = {"order": order, "size": size, "allocator": allocator}
    return {value: median_of(runs, "blocks", where, value)
            for value in ("ms_first", "ms_median", "faults_first", "faults_last")}


def print_blocks(results):
    print(f"\n{'a million blocks, zeroed':34} {'ms first':>9} {'ms':>9} {'faults first':>13} "
          f"{'faults':>9}")
    for order in ("pairs", "all"):
        for size in (240, 712):
            rows = {f"calloc of {name}": block_row(runs, order, size, "calloc")
                    for name, runs in results.items()}
            base = rows["calloc of glibc"]
            for allocator in ("slab_zalloc", "constructed"):
                rows[allocator] = block_row(results["glibc"], order, size, allocator)
            for name, row in rows.items():
                print(f"{order:6} {size:4} {name:22} {row['ms_first']:9.1f} "
                      f"{row['ms_median']:9.1f} {row['faults_first']:13.0f} "
                      f"{row['faults_last']:9.0f}")
            if order == "pairs":
                continue  # the goal is about blocks that are all there at once
            ours = rows["slab_zalloc"]
            ratio = ours["ms_median"] / base["ms_median"]
            few = ours["faults_last"] <= GOAL_BLOCKS_FAULTS * base["faults_last"]
            print(f"{order:6} {size:4} slab_zalloc / glibc: {ratio:.2f}, goal "
                  f"{GOAL_BLOCKS_TIME}{verdict(ratio <= GOAL_BLOCKS_TIME)}; page faults, goal "
                  f"{GOAL_BLOCKS_FAULTS:.0%} of its{verdict(few)}")


def main():
    args = parse_arguments()
    program = os.path.join(args.build, "bin", "pblock_life")
    if not os.access(program, os.X_OK):
        usage_error(f"{program} is not built; run ./run build first")
    results = run_all(program, args)
    print_lives(results)
    print_memory(results)
    print_blocks(results)


main()
