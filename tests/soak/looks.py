# SPDX-License-Identifier: MIT
"""Looks of eight kinds at a process that does everything meanwhile (looked_at.c): none may harm it, show a wrong sum, or
take long.

usage: looks.py BUILD-FOLDER LOOKS      LOOKS of each kind; a table at the end
"""
import json
import re
import resource
import statistics
import subprocess
import sys
import time

HELD = 1000
BATCH = 128
KINDS = ([], ["-r"], ["-T"], ["--json"], ["--openmetrics"], ["--find-leaks"], ["-v"], ["--map=/dev/stdout"])
FLAGS = ("-da", "-d", "-dz", "--sample=3", "--sample=0", "-s")


def objects_of(kind, text):
    """Objects of the cache "held" as this look shows them; None if it does not show them."""
    if kind == "--json":
        return {cache["name"]: cache for cache in json.loads(text)["caches"]}["held"]["objects"]
    found = {
        "": r"(?m)^held +(\d+)", "--openmetrics": r'(?m)^slab_cache_objects\{[^}]*cache="held"} (\d+)',
    }.get(kind)
    return int(re.search(found, text)[1]) if found else None


def look(slabinfo, pid, kind):
    began, cpu = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run([slabinfo, "-p", str(pid), *kind], capture_output=True, text=True)
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    error = ""
    if ran.returncode or ran.stderr:
        error = f"status {ran.returncode}: {ran.stderr or ran.stdout[-300:]}"
    else:
        # The process goes on: threads may move a batch between a slab and an array while both are read.
        objects = objects_of(" ".join(kind), ran.stdout)
        if objects is not None and not HELD - BATCH <= objects <= HELD + BATCH:
            error = f"{objects} objects"
    return took, after.ru_utime + after.ru_stime - cpu.ru_utime - cpu.ru_stime, error


def look_each(slabinfo, server, number, took):
    """One look of each kind, whose times are appended to took. Returns the number of errors."""
    flag, errors = FLAGS[number % len(FLAGS)], 0
    subprocess.run([slabinfo, "-p", str(server.pid), flag, "^held$"], check=True, capture_output=True)
    for kind in KINDS:
        *times, error = look(slabinfo, server.pid, kind)
        took[" ".join(kind)].append(times)
        if error:
            errors += 1
            print(f"look {number}, slabinfo {' '.join(kind)} after {flag}: {error}", flush=True)
        if server.poll() is not None:
            sys.exit(f"the process ended: {server.returncode}")
    return errors


def main():
    build, looks = sys.argv[1], int(sys.argv[2])
    slabinfo, target = f"{build}/bin/slabinfo", f"{build}/bin/looked_at"
    server = subprocess.Popen([target], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    server.stdout.readline()
    took, errors = {" ".join(kind): [] for kind in KINDS}, 0
    try:
        for number in range(looks):
            errors += look_each(slabinfo, server, number, took)
            if number % 100 == 99:
                print(f"{number + 1} of {looks}, {errors} errors", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print(f"interrupted after {number} of {looks}, {errors} errors", file=sys.stderr)
    print(f"{'look':20}{'median':>9}{'99.9 %':>9}{'most':>9}{'most CPU':>10}   ms")
    for kind, times in took.items():
        wall = sorted(1000 * wall for wall, _ in times)
        print(f"{kind or 'slabinfo':20}{statistics.median(wall):9.1f}{wall[len(wall) * 999 // 1000]:9.1f}"
              f"{wall[-1]:9.1f}{1000 * max(cpu for _, cpu in times):10.1f}")
    server.stdin.close()
    sys.exit(1 if server.wait() or errors else 0)


main()
