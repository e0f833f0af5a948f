# SPDX-License-Identifier: MIT
"""Runs of scale_loads: which ones the check of the model needs, and what they print."""

import bisect
import collections
import csv
import os
import subprocess
import sys

LIBRARIES = "/usr/lib/x86_64-linux-gnu/"
PRELOAD = {"jemalloc": LIBRARIES + "libjemalloc.so.2", "mimalloc": LIBRARIES + "libmimalloc.so.2"}
# Rivals return free memory at once, so that what stays resident is what threads hold.
AT_ONCE = {
    "MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0",
    "MIMALLOC_PURGE_DELAY": "0",
    "MIMALLOC_RESET_DELAY": "0",
    "MIMALLOC_DECOMMIT_DELAY": "0",
}
KIB = 1024
CASE = ["allocator", "load", "size", "cpus", "nodes", "caches", "batch", "distance", "keep"]
FIELDS = [*CASE, "what", "value"]
TIMEOUT_S = 300
# CPUs, nodes, KiB of a peak
PEAKS = [(8, 1, 128), (8, 4, 128), (64, 1, 128), (64, 4, 128), (8, 1, 4096), (64, 1, 4096)]


def case(allocator, load, size, cpus, nodes=1, caches=1, batch=64, distance=0, keep=0):
    """One run. `distance` is that of the load `pairs`, `keep` that of `memory`."""
    return {
        "allocator": allocator,
        "load": load,
        "size": size,
        "cpus": cpus,
        "nodes": nodes,
        "caches": caches,
        "batch": batch,
        "distance": distance,
        "keep": keep,
    }


def memory_cases():
    for size in (64, 240, 712, 2112):
        for cpus, nodes, peak in PEAKS:
            yield case("libslab", "memory", size, cpus, nodes, 1, peak * KIB // size)
        yield case("libslab", "memory", size, 16, 1, 64, 1)
    yield case("libslab", "memory", 240, 512, 8, 1, 64 * KIB // 240)
    yield case("libslab", "memory", 2112, 512, 8, 1, 64 * KIB // 2112)
    for allocator in ("SLAB", "sheaves"):
        for size in (64, 240, 712, 2112):
            for cpus, nodes in ((8, 1), (64, 4)):
                yield case(allocator, "memory", size, cpus, nodes, 1, 128 * KIB // size)
    for size in (64, 240, 712, 2112):
        for cpus in (16, 64):
            yield case("jemalloc", "memory", size, cpus, batch=128 * KIB // size)
            yield case("mimalloc", "memory", size, cpus, batch=128 * KIB // size, keep=1)


def operation_cases():
    for size in (64, 240, 712):
        yield case("libslab", "pairs", size, 8, 2, distance=2)
        yield case("libslab", "pairs", size, 8, 2, distance=1)
        yield case("libslab", "elsewhere", size, 8, 1)
        yield case("libslab", "elsewhere", size, 8, 2)
        yield case("libslab", "elsewhere", size, 8, 4)
        yield case("libslab", "burst", size, 4, 1, batch=200 * KIB // size)
        yield case("libslab", "burst", size, 4, 1, batch=4096 * KIB // size)
    for allocator in ("SLAB", "sheaves"):
        yield case(allocator, "pairs", 240, 8, 2, distance=2)
        yield case(allocator, "pairs", 240, 8, 2, distance=1)
        yield case(allocator, "elsewhere", 240, 8, 1)
        yield case(allocator, "elsewhere", 240, 8, 4)
        yield case(allocator, "burst", 240, 4, batch=200 * KIB // 240)
    for allocator in PRELOAD:
        yield case(allocator, "pairs", 240, 4, distance=1)
        yield case(allocator, "elsewhere", 240, 4)
        yield case(allocator, "burst", 240, 4, batch=200 * KIB // 240)


def symbols(library):
    """The functions and data of a library, by address."""
    command = ["nm", "-n", library]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    rows = [line.split() for line in out.stdout.splitlines()]
    return [(int(r[0], 16), r[2]) for r in rows if len(r) == 3 and r[1] in "tTdDbB"]


def name_at(table, address):
    """The symbol that an address lies in."""
    at = bisect.bisect([a for a, _ in table], address) - 1
    return table[at][1].split(".")[0]


def parse(text, table):
    """What a run printed: {name: value}; counts are those between its two reports."""
    before, after, at = {}, {}, {}
    reads = before
    for line in text.splitlines():
        words = line.split()
        if words[0] in ("before", "after"):
            reads = {"before": before, "after": after}[words[0]]
        elif words[0] == "lock":
            mutex = "cache" if words[2] == "cache" else name_at(table, int(words[2], 16))
            caller = name_at(table, int(words[1], 16))
            times, ns = f"lock:{mutex}:{caller}", f"ns:{mutex}:{caller}"
            at[times] = at.get(times, 0) + int(words[3])
            at[ns] = at.get(ns, 0) + int(words[3]) * float(words[4])
        elif words[0] == "at":
            where = words[1].rsplit("/", 1)[-1]
            if "libslab" in where:
                where = name_at(table, int(words[2], 16))
            at[f"at:{where}"] = at.get(f"at:{where}", 0) + int(words[3])
        else:
            reads[words[0]] = int(words[1])
    if "operations" not in after:
        return {**before, **{f"purged:{k}": v for k, v in after.items()}, **at}
    for name in ("operations", "stepped", "locked", "instructions"):
        before.pop(name, None)
    counts = {k: v - before.get(k, 0) if "_bytes" not in k else v for k, v in after.items()}
    return {**counts, **at}


def arguments(build, one):
    """The command and environment of a run."""
    is_slab, is_malloc = one["allocator"] == "libslab", one["allocator"] in PRELOAD
    env = {**os.environ, "SCALE_CPUS": str(one["cpus"]), "SLAB_CONTROL": "off"}
    command = [f"{build}/bin/scale_loads", "malloc" if is_malloc else one["allocator"], one["load"]]
    command += [f"{n}={one[n]}" for n in ("size", "caches", "batch", "keep")]
    command += [f"distance={one['distance']}"] if one["distance"] else []
    if one["load"] == "memory":
        command += ["purge=1"] if is_slab else []
        env.update(AT_ONCE)
    else:
        # Steps take long, and a burst of libslab would steal between them, which time limits.
        steps = 1000
        if is_slab:
            steps = 0 if one["load"] == "burst" else 8000
        command += [f"ops={4000 if is_malloc else 100000}", f"steps={steps}"]
    env["SLAB_FAKE_NODES"] = env["BASELINE_NODES"] = str(one["nodes"])
    env["BASELINE_REAPER"] = "off"
    env["SLAB_DECAY_MS"] = "200" if one["load"] == "memory" else "never"
    if is_malloc:
        env["LD_PRELOAD"] = PRELOAD[one["allocator"]]
    return command, env


def run(build, one, table):
    """Run one case; returns what it printed."""
    command, env = arguments(build, one)
    out = subprocess.run(
        command, env=env, stdout=subprocess.PIPE, text=True, check=False, timeout=TIMEOUT_S
    )
    if out.returncode:
        sys.exit(f"scale: {' '.join(command)} ended with status {out.returncode}")
    return parse(out.stdout, table)


def write(path, results):
    """Write [(case, {what: value})] as CSV, without zeros."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.DictWriter(file, FIELDS, lineterminator="\n")
        rows.writeheader()
        for one, values in results:
            for what, value in values.items():
                if value:
                    rows.writerow({**one, "what": what, "value": value})


def read(path):
    """The opposite of write(): what a run did not print is 0."""
    results = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = tuple(row[f] if f in ("allocator", "load") else int(row[f]) for f in CASE)
            results.setdefault(key, collections.defaultdict(float))[row["what"]] = float(row["value"])
    return [(dict(zip(CASE, key)), values) for key, values in results.items()]


def run_all(build, path, cases=None):
    """Run all cases, show progress, and write the results."""
    cases = cases or [*memory_cases(), *operation_cases()]
    table = symbols(f"{build}/lib/libslab.so")
    results = []
    for i, one in enumerate(cases, 1):
        what = f"{one['allocator']} {one['load']} {one['size']} bytes, {one['cpus']} CPUs"
        print(f"scale: run {i} of {len(cases)}: {what}", file=sys.stderr, flush=True)
        results.append((one, run(build, one, table)))
        write(path, results)
    return results
