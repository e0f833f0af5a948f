#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write ns-slapd.json and *.trace from the counts in ns-slapd.txt.

usage: make_workloads.py FOLDER    the same input gives the same files; the build writes them to
                                   build/pblock

The counts give how often each parameter was read and set, and how many pblocks used which
parts, but not which accesses went to the same pblock. This script infers that.

Kinds of pblocks. Some parameters are used by one kind of operation only; their counts are the
number of operations of that kind: 68,222 searches, 4,020 internal ones, 4,138 adds, 4,024
modifies and 3,884 deletes. The other 931,348 pblocks are those of tests and normalisation
of single values. Their parts (SETCOMBO, GETCOMBO) and their numbers of accesses (H) leave one
possibility:
  262,205 set 3 once and read nothing          88,484 set 3 twice and read 712
  556,593 set 3 and 712 and read 712           24,066 set 3 and 709 and read 709
24,066 is twice the number of writes, so these belong to writes; the others to searches.

Profile. The script divides each parameter's count among the operations in USERS, in proportion
to their pblocks. The sums equal the counts.

Traces. A trace has one operation of a kind, with the pblocks of its values. Each access occurs
the average number of times, rounded, and at least once. The accesses of a parameter are spread
evenly over the life of the pblock; a parameter is set before it is read. The counts contain no
bind and no registration of plug-ins. These traces use the lists of parameters BIND and
PLUGINS; a bind also uses the parameters common to all operations.
"""
import json
import os
import re
import sys

# Operations: their numbers, and the values that one of them tests.
VALUES = [
    # pblocks, of operations, sets, gets
    (262205, "SI", {3: 1}, {}),
    (88484, "SI", {3: 2}, {712: 1}),
    (556593, "SI", {3: 1, 712: 1}, {712: 1}),
    (24066, "AMD", {3: 1, 709: 1}, {709: 1}),
]
OPERATIONS = {"S": 68222, "I": 4020, "A": 4138, "M": 4024, "D": 3884}
NAMES = {
    "S": "search",
    "I": "internal-search",
    "A": "add",
    "M": "modify",
    "D": "delete",
}
ALL, OUTSIDE, SEARCHES, WRITES = "SIAMD", "SAMD", "SI", "AMD"

# The operations that use a parameter; if they differ, those that read it and those that set it.
USERS = {
    ALL: "3 4 9 47 51 70 130 132 133 142 191 214 215 590 882 1000 1949",
    OUTSIDE: "48 109 131 162 163 412 512 885",
    SEARCHES: "49 110 111 112 113 114 115 116 117 118 119 193 194 195 196 198 403 410 503 "
    "510 1930 1945",
    WRITES: "52 53 61 62 136 137 139 141 143 741 742 743 744 750",
    "S": "1160",
    "I": "15 16 17 58",
    "A": "60 64 407 450 460 507 550 560",
    "M": "90 155 250 405 451 461 505 551 561",
    "D": "286 408 453 463 508 553 563",
    "AM": "6 7 285",
    (ALL, "I"): "13",
    (WRITES, ALL): "216 881",
    (SEARCHES, ALL): "860",
    (SEARCHES, SEARCHES): "712",
    (WRITES, WRITES): "709",
}

# What an operation pblock has in a bind beside what all operations have.
BIND = {
    "set": [70, 71, 72, 109, 131, 860, 881, 882],
    "get": [48, 70, 71, 72, 73, 109, 131, 139, 144, 162, 163, 401, 412, 501, 512, 743, 885],
}

# Parameters that functions registering a plug-in set, by what is registered.
PLUGINS = [
    ("preoperation", [8, 12, 212, 210, 401, 403, 404, 405, 406, 407, 408]),
    ("postoperation", [8, 12, 212, 210, 501, 503, 505, 506, 507, 508]),
    ("betxn", [8, 12, 212, 210, 460, 461, 462, 463, 560, 561, 562, 563]),
    ("syntax", [8, 12, 700, 701, 702, 703, 704, 705, 706, 707, 708, 710, 711]),
    ("matching-rule", [8, 12, 600, 601, 618, 619, 620, 621, 622, 623, 624, 625]),
    ("password", [8, 12, 800, 801, 802, 810]),
    ("extended", [8, 12, 212, 210, 300, 301, 302]),
]
PLUGIN_GETS = [3, 13, 5, 14, 815, 816]


def read_counts(path):
    """Parameter: (gets, sets)."""
    counts = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            found = re.match(r"A (\d+) \S+ \S+ get (\d+) set (\d+)", line)
            if found:
                number, gets, sets = map(int, found.groups())
                counts[number] = (gets, sets)
    return counts


def users(number):
    """Operations that read a parameter, operations that set it."""
    for operations, numbers in USERS.items():
        if str(number) in numbers.split():
            return operations if isinstance(operations, tuple) else (operations, operations)
    raise SystemExit(f"make_workloads.py: USERS says nothing about parameter {number}")


def of_operations(counts):
    """Parameter: [gets, sets], without the pblocks of values."""
    left = {number: list(both) for number, both in counts.items()}
    for pblocks, _, sets, gets in VALUES:
        for number, times in gets.items():
            left[number][0] -= pblocks * times
        for number, times in sets.items():
            left[number][1] -= pblocks * times
    return left


def spread(count, operations):
    """Operation: its share of the count; the shares add up to the count."""
    total = sum(OPERATIONS[operation] for operation in operations)
    parts, given, seen = {}, 0, 0
    for operation in operations:
        seen += OPERATIONS[operation]
        parts[operation] = count * seen // total - given
        given += parts[operation]
    return parts


def per_operation(counts):
    """Operation: {parameter: [gets, sets]}, sums over its pblocks."""
    kinds = {operation: {} for operation in OPERATIONS}
    for number, both in sorted(of_operations(counts).items()):
        for index, (count, operations) in enumerate(zip(both, users(number))):
            if count == 0:
                continue
            for operation, part in spread(count, operations).items():
                kinds[operation].setdefault(number, [0, 0])[index] = part
    return kinds


def profile(counts):
    """The profile as a document."""
    kinds = []
    for pblocks, _, sets, gets in VALUES:
        uses = {n: [gets.get(n, 0) * pblocks, sets.get(n, 0) * pblocks] for n in {**sets, **gets}}
        kinds.append((pblocks, uses))
    kinds += [(OPERATIONS[name], uses) for name, uses in per_operation(counts).items()]
    kinds.sort(key=lambda kind: -kind[0])
    return {
        "pblock_profile": 1,
        "command": "ns-slapd",
        "pblocks": sum(pblocks for pblocks, _ in kinds),
        "earlier": 0,
        "alive": 0,
        "dropped_pblocks": 0,
        "dropped_accesses": 0,
        "parameters": as_list({n: list(both) for n, both in counts.items()}),
        "kinds": [
            {"pblocks": pblocks, "whole": True, "parameters": as_list(uses)}
            for pblocks, uses in kinds
        ],
    }


def as_list(uses):
    """The parameters, in the form of a profile."""
    return [
        {"parameter": number, "gets": gets, "sets": sets}
        for number, (gets, sets) in sorted(uses.items())
        if gets or sets
    ]


def rounded(part, pblocks):
    """The number of times in one operation."""
    return max(1, (2 * part + pblocks) // (2 * pblocks)) if part else 0


def accesses(name, gets, sets):
    """The lines of one pblock's life, sorted by their position in it."""
    lines = []
    for verb, counts, shift in (("set", sets, 0), ("get", gets, 0.5)):
        for number, count in counts.items():
            for i in range(count):
                lines.append(((i + shift) / count, number, f"{verb} {name} {number}"))
    return sorted(lines, key=lambda line: line[:2])


def life(name, gets, sets):
    """All lines of a pblock."""
    middle = [line for _, _, line in accesses(name, gets, sets)]
    return [f"new {name}", *middle, f"destroy {name}"]


def values_of(operation):
    """The pblocks of the values of one operation, one after the other."""
    lives, number = [], 0
    for pblocks, operations, sets, gets in VALUES:
        if operation not in operations:
            continue
        for _ in range(rounded(pblocks, sum(OPERATIONS[other] for other in operations))):
            number += 1
            lives.append(life(number, gets, sets))
    return lives


def insert_evenly(lines, lives):
    """Lives within the life of the operation's pblock."""
    result, done = [], 0
    for i, inner in enumerate(lives, 1):
        cut = len(lines) * i // (len(lives) + 1)
        result += lines[done:cut] + inner
        done = cut
    return result + lines[done:]


def write_trace(folder, name, lines, about):
    """One file."""
    with open(os.path.join(folder, f"{name}.trace"), "w", encoding="utf-8") as file:
        file.write(f"# {about}\n# Made by make_workloads.py, which says how.\n")
        file.write("\n".join(lines) + "\n")


def operation_lines(operation, uses):
    """One operation."""
    pblocks = OPERATIONS[operation]
    gets = {n: rounded(both[0], pblocks) for n, both in uses.items()}
    sets = {n: rounded(both[1], pblocks) for n, both in uses.items()}
    return insert_evenly(life(0, gets, sets), values_of(operation))


def bind_lines(kinds):
    """One bind, by what an average operation has of what all have."""
    gets, sets = {}, {}
    total = sum(OPERATIONS.values())
    for number in map(int, USERS[ALL].split()):
        both = [sum(kind.get(number, [0, 0])[i] for kind in kinds.values()) for i in (0, 1)]
        gets[number] = rounded(both[0], total)
        sets[number] = rounded(both[1], total)
    for verb, counts in (("get", gets), ("set", sets)):
        for number in BIND[verb]:
            counts[number] = max(1, counts.get(number, 0))
    return life(0, gets, sets)


def plugin_lines():
    """Registration of one plug-in of each kind."""
    lines = []
    for name, (_, sets) in enumerate(PLUGINS):
        lines += life(name, dict.fromkeys(PLUGIN_GETS, 1), dict.fromkeys([3] + sets, 1))
    return lines


def main():
    folder = sys.argv[1]
    counts = read_counts(os.path.join(os.path.dirname(os.path.abspath(__file__)), "ns-slapd.txt"))
    kinds = per_operation(counts)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "ns-slapd.json"), "w", encoding="utf-8") as file:
        json.dump(profile(counts), file)
    for operation, uses in kinds.items():
        name = NAMES[operation]
        about = f"One {name.replace('-', ' ')} as ns-slapd does it on average."
        write_trace(folder, name, operation_lines(operation, uses), about)
    write_trace(folder, "bind", bind_lines(kinds),
                "One simple bind; one for each of 32 connections.")
    write_trace(folder, "plugin-registration", plugin_lines(),
                "Registration of one plug-in of each kind, once in the life of a server.")


main()
