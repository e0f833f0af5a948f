# SPDX-License-Identifier: MIT
"""slab-perf count: what the processor did for a command. Counters of the hardware where the machine
has them; otherwise callgrind executes the program and counts instructions."""
import os
import re
import shutil
import subprocess
import tempfile

from . import table
from .failure import Failure

EVENTS = ("cycles", "instructions", "cache-references", "cache-misses", "branch-misses")
MODEL = {"Ir": "instructions", "Dr": "data reads", "Dw": "data writes",
         "D1mr": "L1 read misses (model)", "D1mw": "L1 write misses (model)",
         "DLmr": "last-level read misses (model)", "DLmw": "last-level write misses (model)"}
FUNCTIONS = 12
# "INSTRUCTIONS (SHARE) SOURCE:FUNCTION [FILE]"
ANNOTATED = re.compile(r"^\s*([\d,]+) \(\s*[\d.]+%\)\s+[^:]+:(.*?)(?: \[(.*)\])?$")


def perf_counts(path):
    """{event: number} of perf stat -x; an event that is not there is left out."""
    counts = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            fields = line.split(",")
            if len(fields) > 2 and fields[0].isdigit():
                counts[fields[2].split(":")[0]] = int(fields[0])
    return counts


def perf_stat(command, path, **how):
    """Run a command under perf stat. Returns its exit status."""
    return subprocess.run(["perf", "stat", "-x,", "-e", ",".join(f"{e}:u" for e in EVENTS), "-o",
                           path, "--", *command], check=False, **how).returncode


def has_counters(path):
    """Does the machine count cycles and instructions?"""
    if not shutil.which("perf"):
        return False
    perf_stat(["true"], path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return os.path.exists(path) and {"cycles", "instructions"} <= set(perf_counts(path))


def show_hardware(command, path):
    status = perf_stat(command, path)
    counts = perf_counts(path)
    table.show(["counters of the hardware, user space", "number"],
               [[event, f"{counts[event]:,}"] for event in EVENTS if event in counts])
    if counts.get("cycles"):
        print(f"{counts['instructions'] / counts['cycles']:.2f} instructions per cycle")
    return status


def callgrind_totals(path):
    """{event: number} of a file of callgrind."""
    names, totals = [], []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("events:"):
                names = line.split()[1:]
            elif line.startswith(("totals:", "summary:")):
                totals = [int(n) for n in line.split()[1:]]
    return dict(zip(names, totals))


def callgrind_functions(path):
    """[function, file, instructions] of the most expensive functions, without their callees."""
    out = subprocess.run(["callgrind_annotate", "--show=Ir", "--threshold=100", path],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                         errors="replace", check=False).stdout
    sums = {}  # a function has a line for each source file that is inlined into it
    for row in filter(None, map(ANNOTATED.match, out.splitlines())):
        total = sums.setdefault(row[2], ["", 0])
        total[0] = total[0] or os.path.basename(row[3] or "")
        total[1] += int(row[1].replace(",", ""))
    most = sorted(sums.items(), key=lambda item: -item[1][1])[:FUNCTIONS]
    return [[name, file or "-", f"{count:,}"] for name, (file, count) in most]


def show_callgrind(command, path):
    """As without valgrind, libslab keeps objects without debugging (SLAB_TOOLS). Restartable
    sequences do not work in valgrind: libslab uses another engine."""
    status = subprocess.run(
        ["valgrind", "-q", "--tool=callgrind", "--cache-sim=yes",
         f"--callgrind-out-file={path}", "--", *command], check=False,
        env={**os.environ, "SLAB_TOOLS": os.environ.get("SLAB_TOOLS", "off")}).returncode
    totals = callgrind_totals(path) if os.path.exists(path) else {}
    if not totals.get("Ir"):
        raise Failure(f"callgrind counted nothing of {command[0]} (exit status {status})")
    table.show(["callgrind", "number"],
               [[MODEL[event], f"{totals[event]:,}"] for event in MODEL if event in totals])
    print()
    table.show(["function, without callees", "file", "instructions"], callgrind_functions(path))
    return status


def run(options):
    command = options.command
    if not shutil.which(command[0]):
        raise Failure(f"there is no program {command[0]}")
    with tempfile.TemporaryDirectory() as folder:
        if has_counters(os.path.join(folder, "try")):
            return show_hardware(command, os.path.join(folder, "stat"))
        if not shutil.which("valgrind"):
            raise Failure("this machine has no hardware counters that perf can read, and valgrind, "
                          "which counts instructions without them, is missing")
        print("No hardware counters here: callgrind counts instructions. Cycles are unknown, cache "
              "misses are\nthose of its model, and libslab runs without restartable sequences.\n",
              flush=True)
        return show_callgrind(command, os.path.join(folder, "callgrind"))
