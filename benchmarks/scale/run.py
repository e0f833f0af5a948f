#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the model: tables of large machines, its check, a chart."""

import argparse
import csv
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import bench
import chart
import check
import runs
import tables

HELP = """Memory, exchanges and locks of libslab, SLAB, sheaves and allocators with caches
of threads on machines of 64 to 512 CPUs, by a model (docs/scale.md), and its check
against runs with simulated CPUs. Results: build/bench/scale.md and scale.svg.

Without --measure, inputs and checks are those of benchmarks/scale/*.csv. With
--measure the programs run again, some ten minutes; the files are build/bench/scale-*.csv."""
MEASURED = os.path.join(HERE, "measured.csv")
INPUTS = os.path.join(HERE, "inputs.csv")
LEAST_HOLDS = 20


# Inputs that the runs measure: size, load, and the place that locks.
HOLDS = {
    "hold_magazine_64": (64, "pairs", "cache:magazine_get"),
    "hold_magazine_240": (240, "pairs", "cache:magazine_get"),
    "hold_pages_take": (712, "burst", "pages_lock:segment_take_slab"),
    "hold_pages_free": (712, "burst", "pages_lock:segment_free_slab"),
}


def hold(measured, size, load, place):
    """Nanoseconds: the least mean of a hold in the runs of libslab with this load."""
    means = [
        values[f"ns:{place}"] / values[f"lock:{place}"]
        for case, values in measured
        if (case["allocator"], case["size"], case["load"]) == ("libslab", size, load)
        and values.get(f"lock:{place}", 0) > LEAST_HOLDS
    ]
    return f"{min(means):.0f}" if means else None


def measure_inputs(build, path, measured):
    """inputs.csv with the costs and holds of this machine. Rows of other sources stay."""
    command = [f"{build}/bin/scale_costs"]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    costs = dict(line.split() for line in out.stdout.splitlines())
    holds = {name: hold(measured, *where) for name, where in HOLDS.items()}
    costs.update({name: ns for name, ns in holds.items() if ns})
    with open(INPUTS, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({**row, "value": costs.get(row["name"], row["value"])})


def report(inputs, measured):
    """The page of results."""
    off = sum(row.is_off() for row in check.rows(measured))
    of = sum(1 for _ in check.rows(measured))
    large = tables.MACHINES[-1]
    peak = f"{tables.CACHES} caches of {tables.SIZE} bytes, peaks of {tables.PEAK} objects a CPU"
    return "\n\n".join([
        "# The model of large machines: results",
        f"## Trapped memory: {peak}",
        "All CPUs use each cache:",
        tables.memory_table(0),
        f"{tables.FEW_CPUS} CPUs use each cache:",
        tables.memory_table(tables.FEW_CPUS),
        "Objects of 2112 bytes, a peak of 100, all CPUs:",
        tables.memory_table(0, 100, 2112),
        "One object at a time, all CPUs:",
        tables.memory_table(0, 1),
        f"## Exchanges for each operation: {large.cpus} CPUs, {large.nodes} nodes",
        tables.exchange_table(large),
        "## Locks: busy on machines of CPUs/nodes",
        tables.lock_table(inputs),
        "## What else grows",
        tables.other_table(inputs),
        f"## Check: {off} of {of} rows are off by more than {check.MOST_ERROR:.0%}",
        check.table(measured),
    ]) + "\n"


def parse(arguments):
    """The arguments."""
    parser = bench.Parser("scale", HELP)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--measure", action="store_true", help="measure inputs and checks here")
    parser.add_argument("--build", default=os.path.join(HERE, "../../build"), help="the build")
    return parser.parse_args(arguments)


def main():
    """Write the page and the chart."""
    options = parse(sys.argv[1:])
    results = os.path.join(options.build, "bench")
    os.makedirs(results, exist_ok=True)
    inputs, measured = INPUTS, MEASURED
    if options.measure:
        inputs, measured = f"{results}/scale-inputs.csv", f"{results}/scale-measured.csv"
        measure_inputs(options.build, inputs, runs.run_all(options.build, measured))
    numbers = tables.read_inputs(inputs)
    page = report(numbers, runs.read(measured))
    with open(f"{results}/scale.md", "w", encoding="utf-8") as file:
        file.write(page)
    with open(f"{results}/scale.svg", "w", encoding="utf-8") as file:
        file.write(chart.chart(numbers))
    print(page)


if __name__ == "__main__":
    main()
