# SPDX-License-Identifier: MIT
"""A copy of the tree in build/mutation, with a build of its own, and the tests that judge it."""
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))
import ctest_files

TREE = Path("build/mutation").resolve()
BUILD = TREE / "build"
# A mutant that allocates without end is stopped at this many bytes of resident memory.
MEMORY_MAX = 2 << 30
FOLDERS = ["cpu_cache", "base", "config", "pages", "core", "percpu", "registry", "bug", "debug",
           "rcu", "memory", "alloc", "inspect", "stats", "control", "cache"]
BEGINS = re.compile(r"\[ RUN      \] (\S+)$")
ENDS = re.compile(r"\[ *(OK|FAILED|SKIPPED) *\] (\S+?)(, where .*)? \(\d+ ms\)$")


class Test(NamedTuple):
    name: str
    folder: str       # of tests/
    program: str      # what ninja builds
    command: tuple
    environment: tuple
    is_stress: bool


def listed_files():
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
    return [name for name in names if name and Path(name).is_file()]


def update():
    """Make the copy's files those of the tree, and touch no other: what is built stays."""
    names = listed_files()
    for name in names:
        to, data = TREE / name, Path(name).read_bytes()
        if not to.is_file() or to.read_bytes() != data:
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(data)
            to.chmod(Path(name).stat().st_mode)
    known = set(names)
    for path in list(TREE.rglob("*")):
        name = path.relative_to(TREE)
        if path.is_file() and name.parts[0] != "build" and str(name) not in known:
            path.unlink()


def configure():
    subprocess.run(["cmake", "--preset", "release"], cwd=TREE, check=True,
                   stdout=subprocess.DEVNULL)


def build(targets, jobs):
    """Whether these targets could be built."""
    return subprocess.run(["ninja", "-C", BUILD, f"-j{jobs}", *sorted(set(targets))],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def object_of(path):
    return f"CMakeFiles/slab_testing.dir/{path}.o"


def machine_code(path):
    """The object file of a source, without what debuggers read."""
    stripped = BUILD / "stripped.o"
    subprocess.run(["objcopy", "-g", BUILD / object_of(path), stripped], check=True)
    return stripped.read_bytes()


def tests():
    """The tests of the rooms of slab/ and of cpu_cache, as ctest runs them."""
    for folder in FOLDERS:
        for test in ctest_files.tests_in(BUILD / "tests" / folder / "CTestTestfile.cmake"):
            program = Path(test.command[0])
            if program.parent == BUILD / "bin" and len(test.command) == 1:
                yield Test(test.name, folder, str(program.relative_to(BUILD)), test.command,
                           test.listed("ENVIRONMENT"), "stress" in test.listed("LABELS"))


def resident(pid):
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Run:
    """A test that runs: in a session of its own, so that nothing of it stays. limit: the seconds
    that a case of it may take, or what comes between two; only: the one case that runs."""

    def __init__(self, test, limit, only=None):
        self.test, self.limit = test, limit
        self.case = self.failed = None
        self.text = ""
        self.started = self.since = time.monotonic()
        environment = {"SLAB_STRESS_SECONDS": "0.3", "GTEST_FAIL_FAST": "1", **os.environ,
                       **dict(item.split("=", 1) for item in test.environment)}
        if only:
            environment["GTEST_FILTER"] = only
            for variable in ("GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"):
                environment.pop(variable, None)
        self.process = subprocess.Popen(test.command, env=environment, cwd=BUILD / "tests",
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, start_new_session=True,
                                        preexec_fn=limits)
        os.set_blocking(self.process.stdout.fileno(), False)

    def stop(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()

    def read(self):
        """Which case begins or ends, as the program says. false: it says no more for now."""
        try:
            more = os.read(self.process.stdout.fileno(), 1 << 16)
        except BlockingIOError:
            return False
        *lines, rest = (self.text + more.decode(errors="replace")).split("\n")
        self.text = rest[-1000:]
        for line in lines:
            begins, ends = BEGINS.match(line), ENDS.match(line)
            if begins or ends:
                self.since = time.monotonic()
                self.case = begins[1] if begins else None
            if ends and ends[1] == "FAILED":
                self.failed = self.failed or ends[2]
        return bool(more)

    def suspect(self):
        """The case that fails, hangs or ends the program; None: what comes between them."""
        return self.failed or self.case

    def ended(self):
        """None while it runs; then "passed", "failed", "hung" or "took memory without end"."""
        status = self.process.poll()
        while self.read() and status is not None:
            pass
        if status is not None:
            how = "passed" if status == 0 else "failed"
        elif time.monotonic() > self.since + self.limit:
            how = "hung"
        elif resident(self.process.pid) > MEMORY_MAX:
            how = "took memory without end"
        else:
            return None
        self.stop()
        return how


def run_all(queue, limit, jobs, each, only=None):
    """Run tests in this order, `jobs` at a time; each(run, how) ends it with True."""
    queue, running = list(queue), []
    try:
        while queue or running:
            while queue and len(running) < jobs:
                running.append(Run(queue.pop(0), limit, only))
            time.sleep(0.02)
            for run in list(running):
                how = run.ended()
                if how:
                    running.remove(run)
                    if each(run, how):
                        return
    finally:
        for run in running:
            run.stop()


def progress(text):
    """A line that the next one overwrites, on a terminal alone."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
