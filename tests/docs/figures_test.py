#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: figures_test.py SOURCE-FOLDER LIBRARY

Figures that stand in several documents are the same everywhere, and those of the fast paths are
what the library has.
"""
import re
import subprocess
import sys
from pathlib import Path

FIGURES = {
    "instructions of slab_alloc()": {
        "README.md": r"an allocation executes (\d+) instructions",
        "docs/design.md": r"fastpath\.c`, (\d+) instructions",
        "docs/performance.md": r"`slab_alloc\(\)` executes (\d+) instructions"},
    "instructions of slab_free()": {
        "docs/performance.md": r"`slab_free\(\)` (\d+) \("},
    "GiB of heap": {
        "docs/memory.md": r"\*\*(\d+) GiB\*\*",
        "docs/limits.md": r"\| heap \| some (\d+) GiB"},
    "caches": {
        "docs/limits.md": r"\| caches \| ([\d,]+)",
        "include/slab/slab.h": r"or ([\d,]+) caches exist"},
    "a pair with SLAB_HARDEN": {
        "docs/limits.md": r"`SLAB_HARDEN` \| some (\d+) times",
        "include/slab/slab.h": r"takes some (\d+) times as long"},
    "a pair with the heap profile": {
        "docs/profiling.md": r"a free takes some ([\d.]+) times",
        "docs/limits.md": r"heap profile on \| some ([\d.]+) times"},
}


def instructions(source, library, function):
    """On the shortest way through a fast path."""
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}",
                           library], check=True, stdout=subprocess.PIPE, text=True).stdout
    counted = subprocess.run([sys.executable, "-B", source / "benchmarks/objects/fastpath.py",
                              function, "0"], input=code, check=True, stdout=subprocess.PIPE,
                             text=True).stdout
    return counted.split()[1]


def main():
    source, library, wrong = Path(sys.argv[1]), sys.argv[2], 0
    for name, places in FIGURES.items():
        found = {}
        for document, pattern in places.items():
            match = re.search(pattern, (source / document).read_text(encoding="utf-8"))
            found[document] = match[1] if match else "not there"
        if name.startswith("instructions"):
            found["the library"] = instructions(source, library, name.split()[-1][:-2])
        if len(set(found.values())) > 1 or "not there" in found.values():
            print(f"{name}:", ", ".join(f"{value} in {place}" for place, value in found.items()))
            wrong = 1
    sys.exit(wrong)


main()
