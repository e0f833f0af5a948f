# SPDX-License-Identifier: MIT
"""Count the instructions of a function's fast paths in its disassembly.

Reads objdump -d of one function. A fast path runs from the entry to a return,
passes through the function's restartable sequence (it stores to rseq_cs, which
lies at %fs:8(offset)), and neither calls nor leaves the function. All such paths
are followed, both ways at every conditional jump; each instruction counts as one.
Whatever would be too dear on such a path (a lock prefix, a division) is named.
"""
import re
import sys

ARMS_SEQUENCE = re.compile(r"^mov\s+%r\w+,%fs:0x8\(")
JUMP = re.compile(r"^(j\w+)\s+([0-9a-f]+)\b")
DEAR = re.compile(r"^(lock\b.*|i?div\b.*|xchg\s.*[(].*)")
MAX_STEPS = 200


def read(lines):
    """The function as {address: (text, next address)}."""
    code = []
    for line in lines:
        found = re.match(r"^\s*([0-9a-f]+):\t(.*\S)\s*$", line)
        if found:
            code.append((int(found.group(1), 16), found.group(2)))
    following = [address for address, _ in code[1:]] + [None]
    return {address: (text, after) for (address, text), after in zip(code, following)}


def targets(text, after):
    """Where an instruction may go on."""
    jump = JUMP.match(text)
    if not jump:
        return [after]
    target = int(jump.group(2), 16)
    return [target] if jump.group(1) == "jmp" else [after, target]


def paths(code, at, so_far):
    """Every way from here to a return, as lists of instructions."""
    if at not in code or len(so_far) > MAX_STEPS:
        return
    text, after = code[at]
    if re.match(r"call|jmp\s+\*", text):
        return
    so_far = so_far + [text]
    if text.split()[0] in ("ret", "repz"):
        yield so_far
        return
    for target in targets(text, after):
        yield from paths(code, target, so_far)


def main():
    name, limit = sys.argv[1], int(sys.argv[2])
    code = read(sys.stdin)
    if not code:
        sys.exit(f"fastpath: no code of {name}")
    fast = [path for path in paths(code, min(code), [])
            if any(ARMS_SEQUENCE.match(text) for text in path)]
    if not fast:
        sys.exit(f"fastpath: {name} has no restartable sequence that ends in a return")
    counts = sorted({len(path) for path in fast})
    dear = sorted({text for path in fast for text in path if DEAR.match(text)})
    print(f"{name:<12}" + " or ".join(map(str, counts)) + f" instructions (goal {limit}), " +
          ("no lock prefix, division or call" if not dear else "but: " + "; ".join(dear)))


if __name__ == "__main__":
    main()
