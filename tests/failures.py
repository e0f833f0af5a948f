# SPDX-License-Identifier: MIT
"""failures.py JUNIT: what went wrong in each test that failed, from the file that ctest wrote.

Of a program of GoogleTest these are its failures, without the cases that passed; of any other
test the end of its output.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

LINES = 40  # of one test
NOISE = re.compile(r"\[( RUN      |       OK |-{10}|={10})\]|Note: |$")


def shown(output):
    """The lines from the first failure on, without those of cases that passed; the last LINES
    of an output without failures of GoogleTest."""
    lines = output.rstrip().split("\n")
    first = next((number for number, line in enumerate(lines)
                  if re.search(r": Failure$|^\[  FAILED  \]", line)), None)
    if first is None:
        return lines[-LINES:]
    return [line for line in lines[first:] if not NOISE.match(line)][:LINES]


def failures(path):
    """The name and the output of each test that failed."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None:
            yield case.get("name"), case.findtext("system-out") or ""


def main():
    for name, output in failures(sys.argv[1]):
        print(f"\nfailed: {name}")
        for line in shown(output):
            print(f"  {line}")


if __name__ == "__main__":
    main()
