#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: probes_test.py LIBRARY PAGE

The library has exactly the probes of the manual's PAGE, with as many arguments, and each argument
is in a register or is a constant: bpftrace does not understand every other operand.
"""
import re
import subprocess
import sys

ITEM = re.compile(r"^\.It Cm (\w+) Ar ([\w, ]+)$", re.MULTILINE)
NOTE = re.compile(r"Provider: libslab\n\s+Name: (\w+)\n.*\n\s+Arguments: ?(.*)")
OPERAND = re.compile(r"-?[1248]@(%?\w+|\$?-?\d+)")


def documented(path):
    with open(path, encoding="utf-8") as file:
        return dict(ITEM.findall(file.read()))


def built(library):
    """(name, operands) of each note: a probe that the compiler copied has several."""
    notes = subprocess.run(["readelf", "--wide", "-n", library], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
    return [(name, operands.split()) for name, operands in NOTE.findall(notes)]


def breaches(library, page):
    table = documented(page)
    notes = built(library)
    for name in sorted(set(table) - {name for name, _ in notes}):
        yield f"{name} is documented, but {library} has no such probe"
    for name, operands in notes:
        if name not in table:
            yield f"{name} is a probe of {library}, but is not documented"
        elif len(table[name].split(",")) != len(operands):
            yield f"{name} has {len(operands)} arguments; documented are {table[name]}"
        for operand in operands:
            if not OPERAND.fullmatch(operand):
                yield f"{name}: argument {operand} is neither a register nor a constant"


found = list(breaches(*sys.argv[1:]))
for breach in found:
    print(breach)
sys.exit(1 if found else 0)
