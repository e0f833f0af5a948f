# SPDX-License-Identifier: MIT
"""failures.py [--names] JUNIT: what went wrong in each test that failed, from the file that ctest wrote;
or their names.

Of a program of GoogleTest or with a sanitizer these are the lines from its first failure on, without
those of cases that passed; of any other test the end of its output.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

LINES = 40  # of one test
FAILURE = re.compile(r": Failure$|^\[  FAILED  \]|ERROR: \w+Sanitizer|WARNING: ThreadSanitizer"
                     r"|: runtime error: ")
NOISE = re.compile(r"\[( RUN      |       OK |-{10}|={10})\]|Note: |$")


def shown(output):
    """The lines that say what went wrong."""
    lines = output.rstrip().split("\n")
    first = next((number for number, line in enumerate(lines) if FAILURE.search(line)), None)
    if first is None:
        is_gtest = any(line.startswith("[==========] Running") for line in lines)
        return lines[-LINES:] + ["(it crashed or hung)"] * is_gtest
    return [line for line in lines[first:] if not NOISE.match(line)][:LINES]


def has_failed(case):
    """Also one whose program is missing, which ctest calls skipped."""
    skipped = case.find("skipped")
    return case.find("failure") is not None or (
        skipped is not None and skipped.get("message", "").startswith("Unable to find executable"))


def failures(path):
    """The name, the time and the output of each test that failed."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if has_failed(case):
            yield case.get("name"), float(case.get("time", 0)), case.findtext("system-out") or ""


def main():
    if sys.argv[1] == "--names":
        print("\n".join(name for name, _, _ in failures(sys.argv[2])))
        return
    for name, seconds, output in failures(sys.argv[1]):
        print(f"\nfailed: {name}, {seconds:.0f} s")
        for line in shown(output):
            print(f"  {line}")


if __name__ == "__main__":
    main()
