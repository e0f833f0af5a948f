# SPDX-License-Identifier: MIT
"""Addresses of a process as function, file and line, by slab-symbolize where it is installed."""
import os
import shutil
import subprocess
import sys


MARK = "= "


def place(maps, address):
    """(path, offset from the load address); None: in no file."""
    for start, end, _, path in maps:
        if start <= address < end:
            return path, address - min(s for s, _, _, p in maps if p == path)
    return None


def _program():
    """Beside slab-perf, where both are installed or built; else in PATH."""
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "slab-symbolize")
    return beside if os.access(beside, os.X_OK) else shutil.which("slab-symbolize")


def names(maps, addresses):
    """{address: text}."""
    texts = {}
    for address in addresses:
        found = place(maps, address)
        texts[address] = f"({found[0]}+{found[1]:#x})" if found else f"{address:#x}"
    program = _program()
    if program and texts:
        # Alone on its line, an address would become a line for each inlined function.
        lines = "".join(f"{MARK}{text}\n" for text in texts.values())
        out = subprocess.run([program], input=lines, text=True,
                             stdout=subprocess.PIPE, check=False).stdout.splitlines()
        if len(out) == len(texts):
            texts = {address: line[len(MARK):] for address, line in zip(texts, out)}
    return texts
