# SPDX-License-Identifier: MIT
"""Run the tests whose names contain one of the given texts. Case, '-' and '_' do not matter.

usage: by_name.py TEXT...    (./run test TEXT..., which configures build/ first)

A name is that of a GoogleTest case, Suite.Test and its parameter, that of a test of ctest, or that of
a case in Python, Class.test_name, whose class runs whole.
The cases are first looked for in the sources, so only programs that may have one are built, and
what scripts run. ctest runs them as it does all tests: each engine, each page size. One failure
is enough for exit status 1; a text that no name contains is an error, exit status 2.
"""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import ctest_files

BUILD = Path("build").resolve()
CASE = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.M)
PYTHON = re.compile(r"^class (\w+)|^    def (test_\w+)", re.M)
PARAMETER = re.compile(r'"([\w.]+)"')
LONGEST_FILTER = 100_000  # bytes: an environment variable holds 128 KiB


def ctest_tests():
    """The words of each test's command, by the name of the test. Other builds lie below this one."""
    return {test.name: test.command for folder in ("tests", "models")
            for path in (BUILD / folder).rglob("CTestTestfile.cmake")
            for test in ctest_files.tests_in(path)}


def sources_of(path):
    """A file that is compiled, or those that one of CMake's unity builds includes."""
    if path.parent.name == "Unity":
        return [Path(name) for name in re.findall('^#include "(.*)"', path.read_text(), re.M)]
    return [path]


def program_sources():
    """The sources of tests of each program, as the compiler is called for them."""
    sources = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        program = re.search(r" -o \S*CMakeFiles/([^/ ]+)\.dir/", entry["command"])
        if program and path.suffix in (".cc", ".cxx"):
            sources.setdefault(program[1], []).extend(sources_of(path))
    return sources


def may_have(paths, text):
    """Is there a case in these sources whose name may contain the text? Names of parameters are
    strings there; of a text with slashes it is the part with a dot that stands there."""
    words = plain(text).split("/")
    words = [word for word in words if "." in word] or [word for word in words if word]
    for path in paths:
        source = path.read_text()
        names = [f"{suite}.{test}" for suite, test in CASE.findall(source)]
        if "INSTANTIATE_TEST_SUITE_P" in source:
            names += PARAMETER.findall(source)
        if any(word in plain(name) for name in names for word in words):
            return True
    return False


def python_cases(command):
    """Class.test for each case of the script that the command runs, if it is one of unittest; a class by itself is what a test
    of ctest runs."""
    script = next((word for word in command if word.endswith(".py")), None)
    found, current = [], ""
    for name, case in PYTHON.findall(Path(script).read_text() if script else ""):
        current = name or current
        if case and (current in command or len(command) < 5):
            found.append(f"{current}.{case}")
    return found


def listed_cases(program):
    """Every case of a program that is built."""
    output = subprocess.run([BUILD / "bin" / program, "--gtest_list_tests"], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    suite, cases = "", []
    for line in output.splitlines():
        name = line.split("#")[0].strip()
        if line.startswith("  "):
            cases.append(suite + name)
        elif name.endswith("."):
            suite = name
    return cases


def plain(name):
    return re.sub("[-_]", "", name).lower()


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


def run(names, cases=()):
    """ctest on these tests, with these cases of them or all: whether all passed."""
    environment = {"SLAB_STRESS_SECONDS": "0.3", **os.environ}
    if cases and len(":".join(cases)) < LONGEST_FILTER:
        environment["GTEST_FILTER"] = ":".join(sorted(cases))
    wanted = "|".join(re.escape(name) for name in sorted(names))
    return subprocess.run(["ctest", "--preset", "release", "-j", str(2 * (os.cpu_count() or 1)),
                           "-R", f"^({wanted})$"], env=environment).returncode == 0


def die(text):
    print(f"run: no test case (Suite.Test) and no test of ctest has '{text}' in its name",
          file=sys.stderr)
    sys.exit(2)


def main(texts):
    tests = ctest_tests()
    programs = {}
    for name, command in tests.items():
        programs.setdefault(Path(command[0]).name, []).append(name)
    named = {text: {name for name, command in tests.items()
                    if any(plain(text) in plain(case) for case in [name, *python_cases(command)])}
             for text in texts}
    likely = {text: [program for program, paths in program_sources().items()
                     if program in programs and may_have(paths, text)] for text in texts}
    for text in texts:
        if not named[text] and not likely[text]:
            die(text)

    whole = set().union(*named.values())
    candidates = sorted(set().union(*likely.values()))
    build([tests[name] for name in whole] + [tests[programs[name][0]] for name in candidates])
    some, cases = set(), set()
    for program in candidates:
        found = {text: [name for name in listed_cases(program) if plain(text) in plain(name)]
                 for text in texts}
        here = set().union(*found.values())
        if here:
            print(f"== {program}:", *first(here), flush=True)
            some.update(programs[program])
            cases.update(here)
            for text in texts:
                named[text].update(found[text])
    for text in texts:
        if not named[text]:
            die(text)

    passed = [run(whole)] if whole else []
    passed += [run(some - whole, cases)] if some - whole else []
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
