# SPDX-License-Identifier: MIT
"""Run the tests whose names contain one of the given texts. Case, '-' and '_' do not matter.

usage: by_name.py TEXT...    (./run test TEXT..., which configures build/ first)

A name is that of a GoogleTest case, Suite.Test, or that of a test of ctest. The cases are
found in the sources, so only programs that have one of them are built, and what scripts run.
ctest runs them as it does all tests: each engine, each page size. One failure is enough for
exit status 1; a text that no name contains is an error, exit status 2.
"""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

BUILD = Path("build").resolve()
CASE = re.compile(r"^(TEST|TEST_F|TEST_P)\(\s*(\w+),\s*(\w+)\s*\)", re.M)
ADD_TEST = re.compile(r'^add_test\(\[=\[(.+?)\]=\] (".*")\)$', re.M)
LONGEST_FILTER = 100_000  # bytes: an environment variable holds 128 KiB


def ctest_tests():
    """The words of each test's command, by the name of the test."""
    tests = {}
    for path in BUILD.rglob("CTestTestfile.cmake"):
        for name, command in ADD_TEST.findall(path.read_text()):
            tests[name] = re.findall(r'"((?:[^"\\]|\\.)*)"', command)
    return tests


def program_sources():
    """The sources of tests of each program, as the compiler is called for them."""
    sources = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        program = re.search(r" -o \S*CMakeFiles/([^/ ]+)\.dir/", entry["command"])
        if program and path.suffix == ".cc":
            sources.setdefault(program[1], []).append(path)
    return sources


def cases_of(paths):
    """The cases in these files: Suite.Test, and the pattern that GoogleTest knows it by."""
    cases = {}
    for path in paths:
        for kind, suite, test in CASE.findall(path.read_text()):
            name = f"{suite}.{test}"
            cases[name] = f"*/{name}/*" if kind == "TEST_P" else name
    return cases


def plain(name):
    return re.sub("[-_]", "", name).lower()


def contains(name, text):
    """A text with slashes is the name of a case with its parameter: all parameters run."""
    name, text = plain(name), plain(text)
    return text in name or ("/" in text and f"/{name}/" in f"/{text}/")


def first(names, limit=8):
    """The first of these names, and how many more there are."""
    names = sorted(names)
    return names[:limit] + ([f"and {len(names) - limit} more"] if names[limit:] else [])


def needed(command):
    """What a test's command runs of the build; None: it looks at the whole build."""
    files = []
    for word in command:
        path = Path(word.rpartition("=")[2])
        if path.is_dir() and (path == BUILD or path == BUILD / "bin"):
            return None
        if path.is_relative_to(BUILD):
            files.append(str(path.relative_to(BUILD)))
    return files


def build(commands):
    """Build what these commands need, and nothing else if that is known."""
    call = ["cmake", "--build", "--preset", "release"]
    needs = [needed(command) for command in commands]
    targets = sorted({target for files in needs if files for target in files})
    if None in needs:
        targets = ["all"]
    if not targets:
        return
    print("== building:", *first(targets), flush=True)
    quiet = [] if sys.stdout.isatty() else ["--", "--quiet"]
    if subprocess.run(call + ["--target", *targets] + quiet).returncode:
        sys.exit(1)


def run(names, patterns=()):
    """ctest on these tests, with these cases of them or all; whether all passed."""
    environment = {"SLAB_STRESS_SECONDS": "0.3", **os.environ}
    if patterns and len(":".join(patterns)) < LONGEST_FILTER:
        environment["GTEST_FILTER"] = ":".join(sorted(patterns))
    wanted = "|".join(re.escape(name) for name in sorted(names))
    return subprocess.run(["ctest", "--preset", "release", "-j", str(2 * (os.cpu_count() or 1)),
                           "-R", f"^({wanted})$"], env=environment).returncode == 0


def select(texts, tests):
    """The tests that run whole, those that run some cases, the patterns of these, and the
    texts that no name contains."""
    programs = {}
    for name, command in tests.items():
        programs.setdefault(Path(command[0]).name, []).append(name)
    whole = {name for name in tests if any(plain(text) in plain(name) for text in texts)}
    unknown = {text for text in texts if not any(plain(text) in plain(name) for name in tests)}
    some, patterns = set(), set()
    for program, paths in program_sources().items():
        cases = cases_of(paths) if program in programs else {}
        found = {text: [name for name in cases if contains(name, text)] for text in texts}
        names = set().union(*found.values())
        if names:
            print(f"== {program}:", *first(names))
            some.update(programs[program])
            patterns.update(cases[name] for name in names)
            unknown -= {text for text in texts if found[text]}
    return whole, some - whole, patterns, unknown


def main(texts):
    tests = ctest_tests()
    whole, some, patterns, unknown = select(texts, tests)
    if unknown:
        print(f"run: no test case (Suite.Test) and no test of ctest has '{min(unknown)}' in its"
              " name", file=sys.stderr)
        sys.exit(2)
    build([tests[name] for name in whole | some])
    passed = [run(whole)] if whole else []
    passed += [run(some, patterns)] if some else []
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
